import { recordEntries } from '../../../src/contract/session/conversation';
import { LIMITS } from '../../../src/contract/limits';
import { bytesOfEntries, type TranscriptEntry } from '../../../src/contract/transcript';

const reply = (n: number, args: object = {}, calls = 1): TranscriptEntry => ({
  kind: 'reply',
  replyId: `r${n}`,
  text: `reply ${n}`,
  calls: Array.from({ length: calls }, (_, at) => {
    return { callId: `${n}.${at + 1}`, id: `c${n}-${at}`, tool: 'look', arguments: { ...args } };
  }),
});
const result = (n: number, content = 'ok', at = 1): TranscriptEntry => {
  return {
    kind: 'result',
    callId: `${n}.${at}`,
    id: `c${n}-${at - 1}`,
    tool: 'look',
    content,
    success: true,
  };
};
const words = (text: string): TranscriptEntry => ({ kind: 'words', text });

/** Calls without a result, and results without a call. */
const parted = (entries: readonly TranscriptEntry[]): string[] => {
  const calls = entries.flatMap((entry) =>
    entry.kind === 'reply' ? entry.calls.map(({ callId }) => callId) : [],
  );
  const results = entries.flatMap((entry) => (entry.kind === 'result' ? [entry.callId] : []));
  return [...calls.filter((id) => !results.includes(id)), ...results.filter((id) => !calls.includes(id))];
};

it('keeps a short turn as it is', () => {
  const entries = [words('hello'), reply(1), result(1), reply(2, {}, 0)];
  expect(recordEntries(entries)).toEqual(entries);
});

it('gives each call a result that has none', () => {
  expect(recordEntries([words('hello'), reply(1, {}, 2), result(1)])).toEqual([
    words('hello'),
    reply(1, {}, 2),
    result(1),
    {
      ...result(1, '[The turn ended before the result of this call was known. It may have run.]', 2),
      success: false,
    },
  ]);
});

it.each([
  ['a long prompt', [words('x'.repeat(1024 * 1024)), reply(1, {}, 0)]],
  ['a prompt of control characters', [words('\u0001'.repeat(300_000))]],
  [
    'long results',
    [words('a'), ...Array.from({ length: 50 }, (_, n) => [reply(n), result(n, 'y'.repeat(60_000))]).flat()],
  ],
  [
    'long arguments',
    [
      words('a'),
      ...Array.from({ length: 90 }, (_, n) => [reply(n, { a: 'z'.repeat(5_000) }), result(n)]).flat(),
    ],
  ],
  ['many steps', [words('a'), ...Array.from({ length: 2_000 }, (_, n) => [reply(n), result(n)]).flat()]],
  ['a last step of many long calls', [words('a'), reply(1, { a: 'z'.repeat(9_000) }, 64)]],
  ['many words', Array.from({ length: 100 }, () => words('w'.repeat(9_000)))],
])('keeps at most 64 KB of %s, and parts no call from its result', (_case, entries) => {
  const kept = recordEntries(entries);
  expect(bytesOfEntries(kept)).toBeLessThanOrEqual(LIMITS.recordBytes);
  expect(parted(kept)).toEqual([]);
  expect(kept.at(0)?.kind).toBe('words');
  expect(recordEntries(kept)).toEqual(kept);
});
