import type { RequestOpened } from '../../../src/history/events';
import { hunkIds, toDecision, whyNot, type Choice } from '../../../src/web/model/decision';

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
  ...{ safety: 'dangerous', effect: 'unsafe', arguments: { a: 1 }, argsDigest: 'digest', deadline: null },
  preview: {
    text: '',
    plan: { path: 'a', baseHash: 'x', targetHash: 'y', encoding: 'utf8', hunks: hunks.map(hunk) },
  },
});

const SHOWN = { callId: '1.1', callKey: 'key', argsDigest: 'digest' };
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
  ['leaves out a reason of blanks', 'deny', [], choice({ reason: ' \n' }), { decision: 'denied' }],
] as const)('%s', (_, kind, hunks, chosen, sent) => {
  expect(toDecision(request([...hunks]), kind, chosen)).toEqual({ ...SHOWN, ...sent });
});

it('has no hunks without a plan', () => {
  const { preview: _, ...plain } = request();
  expect(hunkIds(plain)).toEqual([]);
});

describe('approving waits', () => {
  const clear = {
    fresh: false,
    unseen: 0,
    hidden: 0,
    confirmed: false,
    issues: 0,
    hunksLeft: true,
    expired: false,
  };
  it.each([
    ['for nothing', {}, undefined],
    ['for a moment, where another one stood here', { fresh: true }, 'It has just opened: a moment.'],
    [
      'for what was not in sight, first of all',
      { fresh: true, unseen: 1 },
      'One part has not been in sight yet.',
    ],
    ['for what was not in sight', { unseen: 2 }, '2 parts have not been in sight yet.'],
    ['for the last part', { unseen: 1 }, 'One part has not been in sight yet.'],
    ['for a look at the marks', { hidden: 3 }, 'Say first that you looked at the marked characters.'],
    ['no more once they were looked at', { hidden: 3, confirmed: true }, undefined],
    ['for mistakes', { issues: 1, unseen: 4 }, 'One field has to be mended first.'],
    ['for several', { issues: 2 }, '2 fields have to be mended first.'],
    ['for a hunk', { hunksLeft: false }, 'No hunk is ticked: deny it instead.'],
    ['for ever past the deadline', { expired: true, issues: 2 }, 'Its deadline has passed.'],
  ])('%s', (_, extra, why) => {
    expect(whyNot({ ...clear, ...extra })).toBe(why);
  });
});
