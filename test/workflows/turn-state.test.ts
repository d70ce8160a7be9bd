import fc from 'fast-check';
import { LIMITS } from '../../src/contract/limits';
import {
  cutContent,
  DROPPED_OUTPUT,
  dropOutputs,
  entryBytes,
  type TranscriptEntry,
} from '../../src/contract/transcript';
import { jsonBytes } from '../../src/contract/text/bytes';
import { Transcript } from '../../src/workflows/turn-state';
import { runs } from '../support/properties';

type ResultEntry = Extract<TranscriptEntry, { kind: 'result' }>;

const result = (n: number, size: number): ResultEntry => ({
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

it('is the same to a worker that kept every text and drops by the number it gets', () => {
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
  fc.assert(property, { numRuns: runs(50) });
});

it.each([0, 5, 99])('answers a page from %d of nothing', (from) => {
  expect(new Transcript().page(from)).toEqual({ from, entries: [], next: null });
});

/** The results of one step: of calls 1 to n, as long as given. */
const step = (...sizes: number[]): ResultEntry[] =>
  sizes.map((size, index) => ({ ...result(index + 1, size), callId: `9.${index + 1}` }));

const bytesOf = (entries: readonly TranscriptEntry[]): number =>
  entries.reduce((sum, entry) => sum + entryBytes(entry), 0);

describe('the outputs of one step', () => {
  it.each<[string, number[]]>([
    ['64 of 64 KiB', Array(64).fill(64 * 1024)],
    ['30 files of 70 kB', Array(30).fill(70_000)],
    ['two of 1 MiB', [1024 * 1024, 1024 * 1024]],
    ['one of 1.8 MB, of a late outcome', [1_800_000]],
    ['one of 1.8 MB among 63 small ones', [...Array(63).fill(100), 1_800_000]],
    [
      '1,000 answers to too many calls and 64 of 64 KiB',
      [...Array(64).fill(65_536), ...Array(936).fill(300)],
    ],
  ])('%s: never fill a turn; each keeps its head, the largest give way', (_, sizes) => {
    const transcript = new Transcript();
    transcript.add({ kind: 'words', text: 'go' }, reply(1), ...step(500_000), reply(2));
    const added = step(...sizes);
    const cutTo = transcript.addResults(added);
    expect(transcript.full).toBe(false);
    expect(bytesOf(transcript.entries)).toBeLessThanOrEqual(LIMITS.transcriptBytes);
    // Little is given away: what is left free is less than what one more byte for each would take, and the marks.
    expect(bytesOf(transcript.entries)).toBeGreaterThan(LIMITS.transcriptBytes - 8 * sizes.length - 1000);
    const now = transcript.entries.slice(-added.length);
    for (const [index, entry] of now.entries()) {
      const [was, content] = [added[index], entry.kind === 'result' ? entry.content : ''];
      expect(content.slice(0, 40)).toBe(was?.content.slice(0, 40));
      expect(content).toBe(cutContent(was?.content ?? '', cutTo ?? 0));
      expect(jsonBytes(content)).toBeLessThanOrEqual(cutTo ?? 0);
      if (jsonBytes(was?.content ?? '') <= (cutTo ?? 0)) expect(entry).toEqual(was);
    }
  });

  it('are whole where older ones can give way', () => {
    const transcript = new Transcript();
    transcript.add(reply(1), ...step(700_000, 700_000), reply(2));
    expect(transcript.addResults(step(700_000, 700_000))).toBeUndefined();
    expect(transcript.entries[1]).toMatchObject({ content: DROPPED_OUTPUT });
    expect(transcript.entries.at(-1)).toMatchObject({ content: `2:${'x'.repeat(700_000)}` });
  });

  it('give way to the next reply, and the next outputs fit again', () => {
    const transcript = new Transcript();
    for (let n = 1; n <= 8; n++) {
      transcript.add({ kind: 'reply', replyId: `r${n}`, text: 'x'.repeat(100_000), calls: [] });
      transcript.addResults(step(...Array(64).fill(64 * 1024)));
      expect(transcript.full).toBe(false);
    }
  });

  test('are the same to a worker that learns how far they were cut, whatever their size', () => {
    const sizes = fc.array(fc.array(fc.integer({ min: 0, max: 900_000 }), { maxLength: 6 }), {
      maxLength: 5,
    });
    const property = fc.property(sizes, (steps) => {
      const transcript = new Transcript();
      let worker: TranscriptEntry[] = [];
      for (const [n, list] of steps.entries()) {
        transcript.add(reply(n));
        const results = step(...list);
        const cutTo = transcript.addResults(results);
        const kept = results.map((entry) =>
          cutTo === undefined ? entry : { ...entry, content: cutContent(entry.content, cutTo) },
        );
        worker = dropOutputs([...worker, reply(n), ...kept], transcript.droppedBefore);
        expect(worker).toEqual(transcript.entries);
        expect(transcript.full).toBe(false);
      }
    });
    fc.assert(property, { numRuns: runs(8) });
  });
});
