import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporal } from '@temporalio/proto';
import { openAuditFile, verifyFile } from '../../lib/audit/audit-file';
import { exportRuns } from '../../lib/cli/commands/audit';
import { makeKeys } from '../../lib/audit/file-key';
import { createRecorder } from '../../lib/audit/records';
import { type History, makeDecode } from '../../lib/history/decode/decode';
import type { TurnEvent } from '../../lib/history/events';
import { createFold } from '../../lib/history/fold/fold';
import { median, timed } from '../figure';

/** Exports the history in a directory again and again, then verifies a million records; prints both times as JSON. */
const ROUNDS = 5;
const RUNS = 100;
const RECORDS = 1_000_000;
const AT = new Date(0).toISOString();

const key = createPrivateKey(makeKeys().privatePem);

const open = (directory: string, name: string) =>
  openAuditFile(join(directory, name), { namespace: 'bench', key, at: AT });

/** Every run decodes and folds the history anew, under an id of its own. */
async function eventsOf({ events }: History, runId: string): Promise<TurnEvent[]> {
  const [fold, decode] = [createFold(), makeDecode()];
  const told: TurnEvent[] = [];
  for (const raw of events ?? []) told.push(...fold.push(await decode(raw)));
  return told.map((event) => (event.type === 'turn_started' ? { ...event, runId } : event));
}

async function exportRate(directory: string, history: History): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const source: Parameters<typeof exportRuns>[0] = {
      async *runs() {
        for (let n = 0; n < RUNS; n++)
          yield { turn: `turn-${n}`, runId: `run-${n}`, startedAt: AT, open: false };
      },
      runEvents: ({ runId }) => eventsOf(history, runId),
    };
    const file = await open(directory, `${round}.jsonl`);
    const progress = { runs: 0, done: 0, gone: 0 };
    let records = 0;
    const ms = await timed(async () => {
      await exportRuns(source, { query: {}, file, progress });
      records = (await file.finish(AT)).records;
    });
    // The first round warms up.
    if (round > 0) rates.push((records * 1000) / ms);
  }
  return median(rates);
}

/** The records of one turn again and again, each time as another run. */
async function writeRecords(directory: string, events: readonly TurnEvent[]): Promise<string> {
  const file = await open(directory, 'big.jsonl');
  const recorder = createRecorder('turn');
  const records = events.flatMap((event) => recorder.push(event));
  for (let n = 0; n < RECORDS; n++) {
    const record = records[n % records.length];
    const run = `run-${Math.floor(n / records.length)}`;
    if (record !== undefined) await file.add({ ...record, run });
  }
  await file.finish(AT);
  return join(directory, 'big.jsonl');
}

async function main(directory: string): Promise<void> {
  const history = temporal.api.history.v1.History.decode(readFileSync(join(directory, 'history')));
  const recordsPerSecond = await exportRate(directory, history);
  const big = await writeRecords(directory, await eventsOf(history, 'bench'));
  const verifySeconds = (await timed(() => verifyFile(big, {}))) / 1000;
  console.log(JSON.stringify({ recordsPerSecond, verifySeconds }));
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
