import fc from 'fast-check';
import {
  cutContent,
  fairShare,
  lastReplyText,
  type TranscriptEntry,
  wordsEntry,
} from '../../src/contract/transcript';
import { jsonBytes } from '../../src/contract/text/bytes';
import { runs } from '../support/properties';

/** A half character that has not its other half. */
const TORN = /\p{Surrogate}/u;

const MARK = /\n\[\.\.\. (\d+) characters left out to keep within the limit \.\.\.\]\n/;

describe('cutContent', () => {
  it('keeps head and tail, and counts what it left out', () => {
    const cut = cutContent(`first ${'x'.repeat(10_000)} last`, 500);
    expect(cut).toMatch(
      /^first x+\n\[\.\.\. \d+ characters left out to keep within the limit \.\.\.\]\nx+ last$/,
    );
    const kept = cut.replace(MARK, '').length;
    expect(kept + Number(MARK.exec(cut)?.[1])).toBe(10_011);
  });

  it.each(['', 'short', 'é'.repeat(100), '"'.repeat(100)])('leaves what fits: %j', (text) => {
    expect(cutContent(text, jsonBytes(text))).toBe(text);
  });

  it('leaves only the mark where there is room for no more', () => {
    expect(cutContent('x'.repeat(1000), 10)).toMatch(new RegExp(`^${MARK.source}$`));
  });

  test('fits its bytes as JSON, splits no character, and does nothing the second time', () => {
    const unit = fc.constantFrom(
      'a',
      '"',
      '\\',
      '\n',
      '\0',
      '\u001b',
      '\u007f',
      'é',
      '€',
      '😀',
      '\ud800',
      '\udc00',
    );
    const text = fc.array(unit, { minLength: 100, maxLength: 400 }).map((units) => units.join(''));
    const property = fc.property(text, fc.integer({ min: 80, max: 3000 }), (whole, most) => {
      const cut = cutContent(whole, most);
      expect(jsonBytes(cut)).toBeLessThanOrEqual(most);
      expect(cutContent(cut, most)).toBe(cut);
      const [head = '', tail = ''] = cut.split(MARK).filter((_, index) => index !== 1);
      expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
      if (!TORN.test(whole)) expect(cut).not.toMatch(TORN);
    });
    fc.assert(property, { numRuns: runs(300) });
  });
});

it.each<[string, number[], number, number]>([
  ['all fit', [1000, 2000], 5000, 2000],
  ['the largest gives way first', [300, 9000], 1300, 1000],
  ['equal ones share', [5000, 5000, 5000], 3000, 1000],
  ['two of three give way', [300, 5000, 9000], 2300, 1000],
  ['never below the first words', [5000, 5000], 10, 256],
  ['no room at all', [5000], -100, 256],
])('fairShare: %s', (_, sizes, room, share) => {
  expect(fairShare(sizes, room)).toBe(share);
});

const reply: TranscriptEntry = { kind: 'reply', replyId: 'r', text: 'let me', calls: [] };

test.each<[string, TranscriptEntry[] | undefined, string]>([
  ['a reply', [wordsEntry({ text: 'go' }), reply], 'let me'],
  ['words after a reply', [reply, wordsEntry({ text: 'go' })], ''],
  ['nothing', [], ''],
  ['no transcript', undefined, ''],
])('the text of the last reply is empty without one at the end: %s', (_, entries, text) => {
  expect(lastReplyText(entries)).toBe(text);
});
