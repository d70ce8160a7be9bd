import fc from 'fast-check';
import type { Accepted } from '../../../src/contract/decision';
import type { DecisionMade, RequestOpened } from '../../../src/history/events';
import {
  approvedHunks,
  blocksOf,
  changesOf,
  type Choice,
  deceivingText,
  hunkIds,
  letsRun,
  toDecision,
  wordParts,
} from '../../../src/web/model/review';
import { segments } from '../../../src/contract/text/unsafe-text';
import { whyNot } from '../../../src/web/model/may-approve';

const hunk = (id: string) => ({
  id,
  oldStart: 1,
  oldLines: 1,
  newStart: 1,
  newLines: 1,
  lines: ['-a', '+b'],
});

const request = (hunks: string[] = []): RequestOpened => ({
  ...{ type: 'request_opened', eventId: 7, at: '', callId: '1.1', callKey: 'key', tool: 'edit', summary: '' },
  ...{ safety: 'dangerous', effect: 'unsafe', arguments: { a: 1 }, seenDigest: 'digest', deadline: null },
  toolDigest: 'tool',
  preview: {
    text: '',
    plan: { path: 'a', baseHash: 'x', targetHash: 'y', encoding: 'utf8', hunks: hunks.map(hunk) },
  },
});

const SHOWN = { callId: '1.1', callKey: 'key', seenDigest: 'digest' };
const choice = (extra: Partial<Choice> = {}): Choice => ({ hunks: [], reason: '', ...extra });

it.each([
  ['approves', 'approve', [], choice(), { decision: 'approved' }],
  [
    'approves with a reason',
    'approve',
    [],
    choice({ reason: ' fine ' }),
    { decision: 'approved', reason: 'fine' },
  ],
  [
    'names no hunks when all are ticked',
    'approve',
    ['1', '2'],
    choice({ hunks: ['2', '1'] }),
    { decision: 'approved' },
  ],
  [
    'names the ticked hunks in order',
    'approve',
    ['1', '2', '3'],
    choice({ hunks: ['3', '1'] }),
    { decision: 'approved', hunks: ['1', '3'] },
  ],
  [
    'sends the whole edit, and no hunks with it',
    'approve',
    ['1', '2'],
    choice({ edited: { a: 2 }, hunks: ['1'] }),
    { decision: 'modified', arguments: { a: 2 } },
  ],
  [
    'denies, whatever else was chosen',
    'deny',
    ['1', '2'],
    choice({ edited: { a: 2 }, hunks: ['1'], reason: 'no' }),
    { decision: 'denied', reason: 'no' },
  ],
  [
    'denies with a suggestion',
    'deny',
    [],
    choice({ suggestion: ' Pay 5 ' }),
    { decision: 'denied', suggestion: 'Pay 5' },
  ],
  [
    'approves without the suggestion',
    'approve',
    [],
    choice({ suggestion: 'Pay 5' }),
    { decision: 'approved' },
  ],
  ['leaves out a reason of blanks', 'deny', [], choice({ reason: ' \n' }), { decision: 'denied' }],
] as const)('%s', (_, kind, hunks, chosen, sent) => {
  expect(toDecision(request([...hunks]), kind, chosen)).toEqual({ ...SHOWN, ...sent });
});

it('has no hunks without a plan', () => {
  const { preview: _, ...plain } = request();
  expect(hunkIds(plain)).toEqual([]);
});

const CLEAR = {
  fresh: false,
  unseen: 0,
  hidden: 0,
  confirmed: false,
  issues: 0,
  hunksLeft: true,
  suggested: false,
  expired: false,
};

describe('approving waits', () => {
  it.each([
    ['for nothing', {}, undefined],
    ['for a moment, where another one stood here', { fresh: true }, 'It has just opened; wait a moment.'],
    [
      'for what was not in sight, first of all',
      { fresh: true, unseen: 1 },
      'One part has not been in sight yet.',
    ],
    ['for what was not in sight', { unseen: 2 }, '2 parts have not been in sight yet.'],
    ['for the last part', { unseen: 1 }, 'One part has not been in sight yet.'],
    ['for a look at the marks', { hidden: 3 }, 'Confirm first that you looked at the marked characters.'],
    ['no more once they were looked at', { hidden: 3, confirmed: true }, undefined],
    ['for mistakes', { issues: 1, unseen: 4 }, 'One field has to be corrected first.'],
    ['for several', { issues: 2 }, '2 fields have to be corrected first.'],
    ['for a hunk', { hunksLeft: false }, 'No hunk is ticked: deny it instead.'],
    [
      'while something else is wanted instead',
      { suggested: true },
      'You said what to do instead: deny it, or remove that.',
    ],
    ['once past the deadline', { expired: true, issues: 2 }, 'Its deadline has passed.'],
  ])('%s', (_, extra, why) => {
    expect(whyNot({ ...CLEAR, ...extra })?.text).toBe(why);
  });
});

it.each([
  [0, 0, 0, ''],
  [1, 0, 0, '1 character that would not show'],
  [8, 2, 0, '8 characters that would not show and 2 words with letters that pass for others'],
  [0, 0, 1, '1 word written from right to left, whose letters stand in the order of the text'],
])('%d, %d and %d in words', (hidden, alike, turned, words) => {
  expect(deceivingText({ hidden, alike, turned })).toBe(words);
});

it.each([
  [{ fresh: true }, undefined],
  [{ unseen: 1 }, 'It cannot be approved before all of it was shown.'],
  [{ unseen: 12 }, 'It cannot be approved before all of it was shown.'],
  [{ issues: 3 }, 'It cannot be approved with these values.'],
  [{ hidden: 1 }, 'It cannot be approved before you say that you looked at the marks.'],
  [{ suggested: true }, 'It cannot be approved while you want something else instead.'],
  [{ hunksLeft: false }, 'It cannot be approved without a hunk.'],
  [{ expired: true }, 'It cannot be approved any more.'],
])('of %j a screen reader says %j', (extra, spoken) => {
  expect(whyNot({ ...CLEAR, ...extra })?.spoken).toBe(spoken);
});

const textOf = (blocks: ReturnType<typeof blocksOf>): string =>
  blocks
    .flat()
    .map((piece) => (piece.kind === 'text' ? piece.text : piece.original))
    .join('');
const sizes = (text: string): number[] =>
  blocksOf(segments(text, 'block')).map((block) => textOf([block]).length);

it('keeps a short text in one block', () => {
  expect(sizes('ls -la\n')).toEqual([7]);
});

it('has one block, to be seen, for no text', () => {
  expect(blocksOf([])).toEqual([[]]);
});

it('cuts by lines', () => {
  expect(sizes('x\n'.repeat(40))).toEqual([32, 32, 16]);
});

it('cuts a line that is longer than a screen', () => {
  expect(sizes('x'.repeat(3_000))).toEqual([1_200, 1_200, 600]);
});

it('loses nothing and breaks no character and no mark', () => {
  const char = fc.constantFrom('a', '\n', '\u202e', '\u200b', '😀', ' ', '\t', '\x1b', 'а');
  fc.assert(
    fc.property(fc.array(char, { maxLength: 4_000 }), (chars) => {
      const text = chars.join('');
      const blocks = blocksOf(segments(text, 'block'));
      expect(textOf(blocks)).toBe(text);
      for (const block of blocks) expect(textOf([block])).not.toMatch(/\p{Cs}/u);
    }),
  );
});

describe('differences', () => {
  const shown = (before: object, after: object): string[] =>
    changesOf(JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after))).map(
      ({ path, kind, parts }) =>
        `${path} ${kind}: ${parts.map(({ kind: k, text }) => `${{ same: '', removed: '-', added: '+' }[k]}${text}`).join('|')}`,
    );

  it.each([
    ['nothing', { a: 1 }, { a: 1 }, []],
    ['the order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ['a number', { a: 129.9 }, { a: 50 }, ['a changed: -129.9|+50']],
    ['a word', { t: 'pay 50 now' }, { t: 'pay 60 now' }, ['t changed: pay |-50|+60| now']],
    ['a type', { a: 1 }, { a: '1' }, ['a changed: -1|+"1"']],
    ['something new', {}, { a: 'x' }, ['a added: +x']],
    ['something gone', { a: { b: null } }, { c: 1 }, ['a.b removed: -null', 'c added: +1']],
    ['blanks only', { a: 'x  y' }, { a: 'x y' }, ['a changed: x|-  |+ |y']],
  ])('shows %s', (_, before, after, changes) => {
    expect(shown(before, after)).toEqual(changes);
  });

  it('compares long texts as a whole', () => {
    const parts = wordParts('a '.repeat(20_000), 'b '.repeat(20_000));
    expect(parts.map(({ kind }) => kind)).toEqual(['removed', 'added']);
  });

  it('holds both texts, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (before, after) => {
        const parts = wordParts(before, after);
        const without = (kind: string): string =>
          parts
            .filter((part) => part.kind !== kind)
            .map(({ text }) => text)
            .join('');
        expect(without('added')).toBe(before);
        expect(without('removed')).toBe(after);
      }),
    );
  });
});

it('the approved hunks are those of the decision that settles the request', () => {
  const one: DecisionMade = {
    ...{ type: 'decision', eventId: 9, at: '', callId: '1.1', decision: 'approved', hunks: ['1'] },
    ...{ approver: 'ann', channel: 'web', door: 'update', identity: 'web@host' },
    judgement: { accepted: true },
  };
  expect(approvedHunks({ request: request(['1', '2']), settledBy: one })).toEqual(['1']);
  const left = { request: request(['1', '2']), decisions: [one] };
  expect(approvedHunks(left)).toEqual(['1', '2']);
});

it.each<[Accepted['decision'], Partial<Accepted>, boolean]>([
  ['approved', {}, true],
  ['run-again', {}, true],
  ['denied', {}, false],
  ['approved', { needs: { approvals: 1, who: ['ben'] } }, false],
])('%s, with %j, lets the call run: %s', (decision, extra, runs) => {
  const at = '2026-11-21T12:00:00Z';
  const verdict = { accepted: true, decisionId: 'd', callId: '1.1', decision, approver: 'ann', at } as const;
  expect(letsRun({ status: 'accepted', verdict: { ...verdict, ...extra } })).toBe(runs);
});
