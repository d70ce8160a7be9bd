import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAuditFile } from '../../lib/cli/audit/audit-file';
import { exportRuns, type AuditSource } from '../../lib/cli/audit/export-runs';
import { verifyFile } from '../../lib/cli/audit/verify-file';
import { makeKeys } from '../../lib/history/audit/keys';
import { createRecorder } from '../../lib/history/audit/records/recorder';
import { makeDecode } from '../../lib/history/decode';
import type { TurnEvent } from '../../lib/history/events';
import { createFold } from '../../lib/history/fold';
import type { History } from '../../lib/history/read-histories';
import { absolute, median, timed, type Bench, type Measurement } from '../figure';
import { freshId, OUR_QUEUE } from '../subjects';

const ROUNDS = 5;
const RUNS = 100;
const RECORDS = 1_000_000;
const AT = new Date(0).toISOString();

/** How fast histories that were downloaded become records in a signed file, and how fast a big file is verified. */
export const audit: Measurement = {
  name: 'audit',
  async run(bench) {
    const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const key = createPrivateKey(makeKeys().privatePem);
    const history = await historyOf(bench, 'small');
    try {
      const perSecond = await exportRate(directory, history, key);
      bench.say('writing a million records');
      const big = join(directory, 'big.jsonl');
      await writeRecords(big, await eventsOf(history, 'bench'), key);
      const seconds = (await timed(() => verifyFile(big, {}))) / 1000;
      return [
        absolute('audit export', perSecond, { least: 20_000, unit: 'records/s' }),
        absolute('verification of a million audit records', seconds, { most: 10, unit: 's' }),
      ];
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

type Key = Parameters<typeof openAuditFile>[1]['key'];

async function historyOf({ client }: Bench, agent: string): Promise<History> {
  const workflowId = freshId('audit');
  const args = [{ agent, prompt: 'go' }];
  await client.workflow.execute('agentTurn', { taskQueue: OUR_QUEUE, workflowId, args });
  return client.workflow.getHandle(workflowId).fetchHistory();
}

/** Every run decodes and folds the history anew, under an id of its own. */
async function eventsOf({ events }: History, runId: string): Promise<TurnEvent[]> {
  const [fold, decode] = [createFold(), makeDecode()];
  const told: TurnEvent[] = [];
  for (const raw of events ?? []) told.push(...fold.push(await decode(raw)));
  return told.map((event) => (event.type === 'turn_started' ? { ...event, runId } : event));
}

async function exportRate(directory: string, history: History, key: Key): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const source: AuditSource = {
      async *runs() {
        for (let n = 0; n < RUNS; n++)
          yield { turn: `turn-${n}`, runId: `run-${n}`, startedAt: AT, open: false };
      },
      runEvents: ({ runId }) => eventsOf(history, runId),
    };
    const file = await openAuditFile(join(directory, `${round}.jsonl`), { namespace: 'bench', key, at: AT });
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
async function writeRecords(path: string, events: readonly TurnEvent[], key: Key): Promise<void> {
  const file = await openAuditFile(path, { namespace: 'bench', key, at: AT });
  const recorder = createRecorder('turn');
  const records = events.flatMap((event) => recorder.push(event));
  for (let n = 0; n < RECORDS; n++) {
    const record = records[n % records.length];
    const run = `run-${Math.floor(n / records.length)}`;
    if (record !== undefined) await file.add({ ...record, run });
  }
  await file.finish(AT);
}
