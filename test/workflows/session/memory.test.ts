import fc from 'fast-check';
import { LIMITS } from '../../../src/contract/limits';
import { bytesOfEntries } from '../../../src/contract/transcript';
import type { TurnMemory } from '../../../src/contract/session';
import { SessionMemory } from '../../../src/workflows/session/memory';
import { runs } from '../../support/properties';
import type { TranscriptEntry } from '../../../src/contract/transcript';

/** A turn of some so many bytes, half of them an output. */
const turn = (n: number, bytes = 1000): TurnMemory => {
  const call = { callId: '1.1', id: `c${n}`, tool: 'look' };
  const entries: TranscriptEntry[] = [
    { kind: 'words', text: `${n} ${'w'.repeat(bytes / 2)}` },
    { kind: 'reply', replyId: `r${n}`, text: '', calls: [{ ...call, arguments: {} }] },
    { kind: 'result', ...call, content: 'o'.repeat(bytes / 2), success: true },
  ];
  return { turn: `s.t${n}`, status: 'answered', messageId: `m${n}`, took: [], entries };
};

/** A memory of turns from 1 on. */
const memoryOf = (count: number, bytes = 1000, counted?: number): SessionMemory => {
  const memory = new SessionMemory();
  for (let n = 1; n <= count; n++) memory.add(turn(n, bytes), { counted });
  return memory;
};

const summary = { text: 'what was said', model: 'm' };

/** The first entries of what a model reads. */
const headOf = ({ entries }: SessionMemory): string[] =>
  entries.flatMap((entry) => (entry.kind === 'words' ? [entry.text.slice(0, 90)] : [])).slice(0, 2);

describe('what is summarized', () => {
  it.each<[string, SessionMemory, number, unknown]>([
    ['nothing of a short one', memoryOf(3), 10_000, undefined],
    ['the oldest turns of a long one', memoryOf(10), 1_000, { turns: 9, entries: 27 }],
    ['nothing of one turn, however long', memoryOf(1, 60_000), 1_000, undefined],
    ['nothing of what is long only by estimate', memoryOf(30, 1000, 100), 4_000, undefined],
    [
      'the oldest turns where the provider counts more',
      memoryOf(10, 1000, 5_000),
      4_000,
      { turns: 5, entries: 15 },
    ],
    ['nothing where that would gain too little', memoryOf(10, 1000, 99_000), 90_000, undefined],
  ])('%s', (_case, memory, over, part) => {
    expect(memory.oldest(over)).toEqual(part);
  });

  it('is due before the limit of bytes drops anything, whatever the agent says', () => {
    const memory = memoryOf(6, 60_000);
    while (memory.oldest(1e9) === undefined) memory.add(turn(7, 60_000));
    expect(memory.carried.summary).toBeUndefined();
    expect(bytesOfEntries(memory.entries)).toBeLessThan(LIMITS.sessionMemoryBytes);
  });
});

it('counts ids and what each turn took up, so that many short turns fit the next run', () => {
  const memory = new SessionMemory();
  const took = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(64, 'm'));
  for (let n = 1; n <= 300; n++)
    memory.add({
      ...turn(n, 20),
      turn: `${'s'.repeat(190)}.t${n}`,
      messageId: `${n}`.padStart(64, 'm'),
      took,
    });
  expect(JSON.stringify(memory.carried).length).toBeLessThan(1.2 * LIMITS.sessionMemoryBytes);
  expect(memory.carried.summary).toMatchObject({ leftOut: expect.any(Number) });
});

it('a summary stands for all turns before it, also those of an earlier summary', () => {
  const memory = memoryOf(6);
  const before = memory.ref;
  memory.compact({ turns: 3, entries: 9 }, summary);
  memory.compact({ turns: 2, entries: 7 }, { ...summary, text: 'all of it' });
  expect(memory.carried).toMatchObject({ summary: { turns: 5, text: 'all of it', model: 'm' } });
  expect(headOf(memory)).toEqual([
    '[The first 5 turns of this conversation are kept only in this summary of yours:]\nall of it',
    `6 ${'w'.repeat(88)}`,
  ]);
  expect(memory.ref.digest).not.toBe(before.digest);
  // What the turns before were given is not its beginning any more.
  expect(memory.ref.before).toBeUndefined();
  expect(new SessionMemory(memory.carried).entries).toEqual(memory.entries);
});

it('a note beside the summary says which turns are left out', () => {
  const memory = memoryOf(2);
  memory.compact({ turns: 1, entries: 3 }, summary);
  for (let n = 3; n < 40; n++) memory.add(turn(n, 60_000));
  const { text, leftOut = 0, turns } = memory.carried.summary ?? {};
  expect(text).toBe('what was said');
  expect(leftOut).toBe((turns ?? 0) - 1);
  expect(headOf(memory)[1]).toMatch(
    new RegExp(`^\\[The next ${leftOut} turns of this conversation are left out: the conversation was`),
  );
});

it('without a summary the oldest outputs go, as many as needed, and never those of the last turn', () => {
  const memory = memoryOf(10);
  memory.dropOutputs(2_000);
  const outputs = memory.entries.flatMap((entry) => (entry.kind === 'result' ? [entry.content[0]] : []));
  expect(outputs.join('')).toMatch(/^\[+o+$/);
  expect(memory.carried.memory).toHaveLength(10);
});

it('never parts a call from its result, whatever is added, summarized and dropped', () => {
  const act = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), bytes: fc.integer({ min: 10, max: 60_000 }) }),
    fc.record({
      kind: fc.constantFrom('compact' as const, 'drop' as const, 'all' as const),
      over: fc.integer({ min: 1000, max: 50_000 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const memory = new SessionMemory();
      let turns = 0;
      for (const one of acts) {
        if (one.kind === 'add') memory.add(turn(++turns, one.bytes));
        else if (one.kind === 'drop') memory.dropOutputs(one.over);
        else {
          const part = one.kind === 'all' ? memory.allButLast : memory.oldest(one.over);
          if (part === undefined) continue;
          expect(memory.entries[part.entries]).toMatchObject({ kind: 'words' });
          memory.compact(part, summary);
        }
      }
      const { entries, carried } = memory;
      const [asked, got] = (['reply', 'result'] as const).map(
        (kind) => entries.filter((entry) => entry.kind === kind).length,
      );
      expect(asked).toBe(got);
      expect(carried.memory.length + (carried.summary?.turns ?? 0)).toBe(turns);
      expect(bytesOfEntries(entries)).toBeLessThanOrEqual(LIMITS.sessionMemoryBytes);
    }),
    { numRuns: runs(100) },
  );
});
