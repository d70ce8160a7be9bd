import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  exportLines,
  exportRuns,
  progressLine,
  redactLines,
  verifyLines,
} from '../../../src/cli/commands/audit';
import { createStyle } from '../../../src/cli/print/screen';
import { openAuditFile } from '../../../src/audit/audit-file';
import type { RunSummary } from '../../../src/client';
import { CountersignError } from '../../../src/contract/errors';
import type { TurnEvent } from '../../../src/history/events';
import { scratchDirectory } from '../../support/scratch';
import { AT, newKey } from '../../audit/sample';
import { result } from '../../history/script';

type AuditSource = Parameters<typeof exportRuns>[0];

const look = { width: 200, style: createStyle(false) };
const HASH = 'a'.repeat(64);
const counts = {
  ...{ verified: 1200, carried: 0, removed: 0, revoked: 0 },
  ...{ none: 3, bad: 1, unknown_key: 0, taken_out: 0 },
};
const none = { keys: 'approvers', counts, verified: {}, marked: [], unproven: [] } as const;
const verified = {
  signatures: none,
  namespace: 'default',
  key: 'b'.repeat(64),
  records: 1200,
  signed: 1200,
  redacted: 3,
  head: { n: 1201, at: '2026-11-21T12:00:00.000Z', hash: HASH },
  end: { next: 1202, hash: HASH },
  pinned: true,
};

it.each([
  [{ runs: 0, done: 0, gone: 0 }, 'listing turns'],
  [{ runs: 4000, done: 1234, gone: 0 }, 'read 1,234 of 4,000 histories'],
])('tells how far it is: %j', (progress, line) => {
  expect(progressLine(progress)).toBe(line);
});

it('tells what is new, and the head to keep', () => {
  const lines = exportLines(
    'a.jsonl',
    { added: 12, dropped: 3, records: 1200, head: { n: 1201, hash: HASH }, gone: 2 },
    look,
  );
  expect(lines).toEqual([
    'a.jsonl: 12 new records, signed',
    'records  1,200',
    `head     1201 ${HASH}`,
    'cut off  3 unsigned records; those that are in history are written again',
    'deleted  2 histories while they were listed',
    expect.stringContaining('Keep the head'),
  ]);
});

it('says so where nothing is new', () => {
  const lines = exportLines(
    'a.jsonl',
    { added: 0, dropped: 0, records: 5, head: { n: 6, hash: HASH }, gone: 0 },
    look,
  );
  expect(lines[0]).toBe('a.jsonl: nothing new, signed');
  expect(lines).toHaveLength(3);
});

it.each([
  ['a pinned key', {}, /\(the one you gave\)/, /pin yours/],
  ['the key of the file', { pinned: false }, /\(named by the file itself\)[^]*pin yours/, /you gave/],
  ['a tail that nobody signed', { signed: 1000 }, /1,200, of them signed: 1,000/, /pin yours/],
])('tells what is known of a file with %s', (_what, more, says, saysNot) => {
  const text = verifyLines('a.jsonl', { ...verified, ...more }, look).join('\n');
  expect(text).toMatch(says);
  expect(text).not.toMatch(saysNot);
});

const at = { n: 7, turn: 'turn-1', call: '1.1', approver: 'an\u001bna', state: 'bad', why: 'no' } as const;

it.each([
  [
    'hold by the keys of the file alone',
    { signatures: { ...none, keys: 'carried', counts: { ...counts, verified: 0, carried: 2, bad: 0 } } },
    /key in this file only: 2, no signature: 3[^]*keys +as this file carries them: whoever wrote it could have put in others; compare/,
  ],
  [
    'hold by a key that was revoked',
    {
      signatures: {
        ...none,
        counts: { ...counts, revoked: 1, bad: 0 },
        marked: [{ ...at, state: 'revoked' }],
      },
    },
    /key revoked: 1, [^]*key revoked +turn-1\/1\.1, an\\x1bna, record 7: no$/m,
  ],
  [
    'were',
    { signatures: { ...none, verified: { anna: 1200 }, unproven: [at] } },
    /verified: 1,200, no signature: 3, bad signature: 1[^]*anna: 1,200[^]*turn-1\/1\.1, an\\x1bna, record 7: no$/m,
  ],
  [
    'were, with more than are named',
    { signatures: { ...none, counts: { ...counts, bad: 1001 }, unproven: [at] } },
    /and +1,000 more of these/,
  ],
] as const)('says of signatures that they %s', (_what, more, says) => {
  expect(verifyLines('a.jsonl', { ...verified, ...more }, look).join('\n')).toMatch(says);
});

it('tells what was taken out', () => {
  expect(redactLines({ file: 'a\u001b.jsonl', taken: 2, redacted: 5 }, look)).toEqual([
    'a\\x1b.jsonl: took out 2 values; 5 are out in all',
  ]);
});

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
      if (found === undefined || turn.includes('gone')) throw new CountersignError('not_found', 'gone');
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
