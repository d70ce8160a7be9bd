import fc from 'fast-check';
import { LIMITS } from '../../src/contract/limits';
import { DROPPED_OUTPUT, dropOutputs, entryBytes, type TranscriptEntry } from '../../src/contract/transcript';
import { Transcript } from '../../src/workflows/transcript';

const result = (n: number, size: number): TranscriptEntry => ({
  kind: 'result',
  callId: `${n}.1`,
  id: `m${n}`,
  tool: 'read',
  content: `${n}:${'x'.repeat(size)}`,
  success: true,
});
const reply = (n: number): TranscriptEntry => ({
  kind: 'reply',
  replyId: `r${n}`,
  text: `step ${n}`,
  calls: [],
});

it('drops the oldest outputs first, keeps what was just added, and stays within its limit', () => {
  const transcript = new Transcript();
  for (let n = 1; n <= 10; n++) {
    transcript.add(reply(n));
    transcript.add(result(n, 400_000));
    expect(transcript.full).toBe(false);
  }
  const outputs = transcript.entries.filter((entry) => entry.kind === 'result');
  const kept = outputs.filter((entry) => entry.kind === 'result' && entry.content !== DROPPED_OUTPUT);
  expect(kept).toHaveLength(3);
  expect(outputs.slice(-3)).toEqual(kept);
  expect(transcript.entries.filter((entry) => entry.kind === 'reply')).toHaveLength(10);
});

it('is the same to a worker that kept every text and drops by the number it is told', () => {
  const whole: TranscriptEntry[] = [];
  const transcript = new Transcript();
  for (let n = 1; n <= 10; n++) {
    const entries = [reply(n), result(n, 300_000)];
    whole.push(...entries);
    transcript.add(...entries);
    expect(dropOutputs(whole, transcript.droppedBefore)).toEqual(transcript.entries);
  }
});

it('goes on where it was carried', () => {
  const first = new Transcript();
  for (let n = 1; n <= 6; n++) first.add(result(n, 400_000));
  const second = new Transcript(first.entries, first.droppedBefore);
  first.add(result(7, 400_000));
  second.add(result(7, 400_000));
  expect(second.entries).toEqual(first.entries);
  expect(second.droppedBefore).toBe(first.droppedBefore);
});

it('says that it is full where dropping does not help', () => {
  const transcript = new Transcript();
  transcript.add({ kind: 'words', text: 'x'.repeat(LIMITS.transcriptBytes) });
  transcript.add(result(1, 10));
  expect(transcript.full).toBe(true);
});

test('pages give every entry once, in order, and each fits', () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 700_000 }), { maxLength: 6 });
  const property = fc.property(sizes, (list) => {
    const transcript = new Transcript(list.map((size, index) => result(index, size)));
    const seen: TranscriptEntry[] = [];
    for (let from: number | null = 0; from !== null;) {
      const page: ReturnType<Transcript['page']> = transcript.page(from);
      const bytes = page.entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
      expect(page.entries.length === 1 || bytes <= LIMITS.transcriptPageBytes).toBe(true);
      seen.push(...page.entries);
      from = page.next;
    }
    expect(seen).toEqual(transcript.entries);
  });
  fc.assert(property, { numRuns: 50 });
});

it.each([0, 5, 99])('answers a page from %d of nothing', (from) => {
  expect(new Transcript().page(from)).toEqual({ from, entries: [], next: null });
});
