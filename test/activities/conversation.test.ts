import { bytesOf, createMemory, earlierWords, expectAfterTurn } from '../../src/activities/conversation';
import { recordEntries } from '../../src/contract/session/conversation';
import type { TranscriptEntry } from '../../src/contract/transcript';
import { SessionMemory } from '../../src/workflows/session/memory';

const entries: TranscriptEntry[] = [
  { kind: 'words', text: 'hello' },
  { kind: 'reply', replyId: 'r1', text: 'hi', calls: [] },
];

it('gives back a conversation only by the reply it ends with', () => {
  const memory = createMemory();
  memory.remember('w/r', { replyId: 'r1', entries, bytes: bytesOf(entries) });
  expect(memory.transcript('w/r', 'r1')?.entries).toEqual(entries);
  expect(memory.transcript('w/r', 'r2')).toBeUndefined();
  expect(memory.transcript('w/other', 'r1')).toBeUndefined();
});

it('forgets the least recently used when it is full', () => {
  const memory = createMemory(1000);
  memory.keepContent('a', 'x'.repeat(200));
  memory.keepContent('b', 'x'.repeat(200));
  expect(memory.content('a')).toBeDefined();
  memory.keepContent('c', 'x'.repeat(200));
  expect([memory.content('a') !== undefined, memory.content('b')]).toEqual([true, undefined]);
});

it('does not keep anything larger than the whole cache', () => {
  const memory = createMemory(100);
  memory.keepContent('a', 'x'.repeat(200));
  memory.remember('w/r', { replyId: 'r1', entries, bytes: 1000 });
  expect(memory.content('a')).toBeUndefined();
  expect(memory.transcript('w/r', 'r1')).toBeUndefined();
});

describe('what a session holds after a turn', () => {
  const place = { sessionId: 's', runId: 'r' };
  const called = { callId: 'c1', id: 'call_1', tool: 'look' };
  const turns: TranscriptEntry[][] = [
    entries,
    [
      { kind: 'words', text: 'look', files: [] },
      { kind: 'reply', replyId: 'r2', text: '', calls: [{ ...called, arguments: { n: 1 } }] },
      { kind: 'result', ...called, content: 'é'.repeat(100_000), success: true },
      { kind: 'reply', replyId: 'r3', text: 'seen', calls: [] },
    ],
    [],
  ];

  /** A session after its first turns, and a worker that ran them. Outside of an activity nothing can be asked for. */
  async function after(count: number) {
    const memory = createMemory();
    const session = new SessionMemory();
    for (const turn of turns.slice(0, count)) {
      const earlier = await earlierWords({ ...place, ...session.ref }, memory);
      expect(earlier).toEqual(session.entries);
      expectAfterTurn({ ...place, ...session.ref }, { earlier, turn }, memory);
      const record = JSON.parse(JSON.stringify(recordEntries(turn)));
      session.add({ entries: record, took: [], turn: 't', status: 'answered', messageId: 'm' });
    }
    return { memory, session };
  }

  it.each([1, 2])('is known to the worker that ran %d', async (count) => {
    const { memory, session } = await after(count);
    expect(await earlierWords({ ...place, ...session.ref }, memory)).toEqual(session.entries);
  });

  it.each<[string, (ref: SessionMemory['ref']) => SessionMemory['ref']]>([
    ['other entries', (ref) => ({ ...ref, digest: 'f'.repeat(64) })],
    ['more of them', (ref) => ({ ...ref, count: ref.count + 1 })],
  ])('is asked for where it holds %s', async (_case, other) => {
    const { memory, session } = await after(2);
    await expect(earlierWords({ ...place, ...other(session.ref) }, memory)).rejects.toThrow(/[Cc]ontext/);
  });
});
