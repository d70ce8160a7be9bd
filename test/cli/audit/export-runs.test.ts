import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAuditFile } from '../../../src/cli/audit/audit-file';
import { exportRuns, type AuditSource } from '../../../src/cli/audit/export-runs';
import type { RunSummary } from '../../../src/client';
import { CountersignError } from '../../../src/contract/errors';
import type { TurnEvent } from '../../../src/history/events';
import { scratchDirectory } from '../../support/scratch';
import { AT, newKey } from '../../history/audit/sample';
import { result } from '../../history/script';

const directory = scratchDirectory();
const key = newKey();

/** A run that started and, unless it is open, ended. */
const eventsOf = ({ turn, runId, open }: RunSummary): TurnEvent[] => {
  const started = { type: 'turn_started', turn, runId, agent: 'a', prompt: '', taskQueue: 'q' } as const;
  const ended = { type: 'turn_ended', status: 'answered', answer: result('1.1').content } as const;
  return [{ ...started, eventId: 1, at: AT }, ...(open ? [] : [{ ...ended, eventId: 9, at: AT }])];
};
const run = (id: string, open = false): RunSummary => ({
  turn: `turn-${id}`,
  runId: `run-${id}`,
  startedAt: AT,
  open,
});

/** A server with these runs, newest first, that counts what is read of it. */
const serverWith = (runs: readonly RunSummary[]) => {
  const read: string[] = [];
  const source: AuditSource = {
    async *runs() {
      yield* runs;
    },
    runEvents: async ({ turn, runId }) => {
      read.push(runId);
      const found = runs.find((one) => one.runId === runId);
      if (found === undefined || turn.includes('gone')) throw new CountersignError('turn_not_found', 'gone');
      return eventsOf(found);
    },
  };
  return { source, read };
};
const exportFrom = async (source: AuditSource) => {
  const file = await openAuditFile(join(directory(), 'audit.jsonl'), { namespace: 'default', key, at: AT });
  const progress = { runs: 0, done: 0, gone: 0 };
  await exportRuns(source, { query: {}, file, progress }).catch(async (error: unknown) => {
    await file.abandon();
    throw error;
  });
  return { ...(await file.finish(AT)), ...progress };
};
const turnsIn = (): string[] =>
  readFileSync(join(directory(), 'audit.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .flatMap((line) => JSON.parse(line).turn ?? []);

it('writes the oldest run first', async () => {
  await exportFrom(serverWith([run('c'), run('b'), run('a')]).source);
  expect(turnsIn()).toEqual(['turn-a', 'turn-a', 'turn-b', 'turn-b', 'turn-c', 'turn-c']);
});

it('reads no run again that is in the file to its end', async () => {
  await exportFrom(serverWith([run('b', true), run('a')]).source);
  const { source, read } = serverWith([run('c'), run('b'), run('a')]);
  await expect(exportFrom(source)).resolves.toMatchObject({ added: 3, records: 6, runs: 2 });
  expect(read).toEqual(['run-b', 'run-c']);
});

it('counts runs that were deleted meanwhile', async () => {
  await expect(exportFrom(serverWith([run('gone'), run('a')]).source)).resolves.toMatchObject({
    gone: 1,
    added: 2,
  });
});

it('stops at any other failure', async () => {
  const failing: AuditSource = {
    ...serverWith([run('a')]).source,
    runEvents: () => Promise.reject(new CountersignError('key_missing', 'no')),
  };
  await expect(exportFrom(failing)).rejects.toMatchObject({ code: 'key_missing' });
});
