import { bytesOf, createMemory } from '../../src/activities/conversation';
import type { TranscriptEntry } from '../../src/contract/transcript';

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
