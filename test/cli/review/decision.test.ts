import { chooseApproval, parseHunks, seen, type ApprovalChoice } from '../../../src/cli/review/decision';
import { call, proposal } from '../support';

const SEEN = { callId: '1.1', seenDigest: '0123456789abcdef'.repeat(4), callKey: 'key:1.1' };
const plain: ApprovalChoice = { assignments: [] };

describe('what a choice decides', () => {
  it.each<[string, ApprovalChoice, object]>([
    ['as it is', plain, { decision: 'approved' }],
    [
      'one argument',
      { assignments: [{ path: ['amount'], value: 5 }] },
      { decision: 'modified', arguments: { amount: 5, to: 'ann' } },
    ],
    [
      'all arguments',
      { assignments: [], arguments: { amount: 1 } },
      { decision: 'modified', arguments: { amount: 1 } },
    ],
    [
      'all, then one',
      { arguments: { amount: 1 }, assignments: [{ path: ['to'], value: 'bob' }] },
      { decision: 'modified', arguments: { amount: 1, to: 'bob' } },
    ],
    [
      'an edit that changes nothing',
      { assignments: [{ path: ['amount'], value: 10 }] },
      { decision: 'approved' },
    ],
  ])('%s', (_name, choice, decision) => {
    expect(chooseApproval(call(), choice)).toEqual({ ...SEEN, ...decision });
  });

  it('takes hunks of a file proposal', () => {
    const decision = chooseApproval(call({ request: proposal() }), { assignments: [], hunks: ['2'] });
    expect(decision).toMatchObject({ decision: 'approved', hunks: ['2'] });
  });

  it.each<[string, ReturnType<typeof call>, ApprovalChoice, string, RegExp]>([
    ['hunks of what has none', call(), { assignments: [], hunks: ['1'] }, 'usage', /proposes no hunks/],
    [
      'a hunk that is not there',
      call({ request: proposal() }),
      { assignments: [], hunks: ['1', '7'] },
      'usage',
      /no hunk 7; there are 1, 2/,
    ],
    [
      'hunks of changed arguments',
      call({ request: proposal() }),
      { assignments: [{ path: ['path'], value: 'b' }], hunks: ['1'] },
      'usage',
      /unchanged arguments only/,
    ],
    ['a call in doubt', call({ phase: 'in_doubt' }), plain, 'usage', /resolved, not approved/],
  ])('refuses %s', (_name, view, choice, code, message) => {
    const choose = (): unknown => chooseApproval(view, choice);
    expect(choose).toThrow(message);
    expect(choose).toThrow(expect.objectContaining({ code }));
  });

  it('lets the verifier judge a call that never asked', () => {
    const { request: _request, ...safe } = call({ phase: 'done' });
    expect(chooseApproval(safe, plain)).toEqual({ callId: '1.1', decision: 'approved' });
    expect(seen(safe)).toEqual({});
  });
});

describe('reading --hunks', () => {
  it.each([
    ['1', ['1']],
    ['1,3', ['1', '3']],
    [' 2 , 2 ', ['2']],
  ])('%j', (text, ids) => {
    expect(parseHunks(text)).toEqual(ids);
  });

  it.each(['', '0', 'a', '1,', '1-3', '-1'])('refuses %j', (text) => {
    expect(() => parseHunks(text)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});
