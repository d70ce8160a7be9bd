import type { Answer } from '../../src/client/types';
import { answerLine, reportAnswer } from '../../src/cli/answer';
import { createStyle } from '../../src/cli/print/screen';
import { REFUSAL_CODES, type RefusalCode } from '../../src/contract/decision';
import { AT, testScreen } from './support';

const accepted = (extra = {}): Answer => ({
  status: 'accepted',
  verdict: {
    accepted: true,
    decisionId: 'd',
    callId: '1.1',
    decision: 'approved',
    approver: 'ann',
    at: AT,
    ...extra,
  },
});
const refused = (code: RefusalCode, extra = {}): Answer => ({
  status: 'refused',
  verdict: { accepted: false, code, message: 'no', callId: '1.1', ...extra },
});

const report = (answer: Answer, json = false): string[] => {
  const screen = testScreen();
  reportAnswer(answer, { id: 't/1.1', json }, screen);
  return screen.printed;
};

describe('the answer to a decision', () => {
  it.each<[string, Answer, RegExp]>([
    ['accepted', accepted(), /^t\/1.1 approved by ann$/],
    ['an approver with controls', accepted({ approver: 'a\x1b[2J' }), /by a\\x1b\[2J$/],
    ['an edit that asks again', accepted({ decision: 'modified', asksAgain: true }), /a decision of its own/],
    [
      'a request that is prepared anew',
      accepted({ decision: 'ask-again', asksAgain: true }),
      /anew\. It waits/,
    ],
    ['recorded', { status: 'recorded', decisionId: 'd' }, /takes it up before the deadline$/],
  ])('%s', (_name, answer, text) => {
    expect(report(answer).join('\n')).toMatch(text);
  });

  it('promises no preview, which the call may not have', () => {
    const said = report(accepted({ decision: 'modified', asksAgain: true })).join(' ');
    expect(said).toContain('with your arguments');
    expect(said).not.toContain('preview');
  });

  it.each(REFUSAL_CODES)('%s is an error with a hint', (code) => {
    const error = expect.objectContaining({ code: 'refused', hint: expect.any(String) });
    expect(() => report(refused(code))).toThrow(error);
    expect(() => report(refused(code))).toThrow(`${code}: no`);
  });

  it('tells each issue once, and what stands', () => {
    const issues = [
      { path: '/amount', message: 'is too big' },
      { path: '', message: 'no' },
    ];
    const standing = { decision: 'denied', approver: 'bob', at: AT };
    expect(() => report(refused('validation', { issues, standing }))).toThrow(
      `t/1.1 was refused, validation: no\n  /amount: is too big\nIt stands as denied by bob at ${AT}.`,
    );
  });

  it('prints JSON, for refusals too', () => {
    expect(JSON.parse(report(accepted(), true).join(''))).toMatchObject({ status: 'accepted' });
    const screen = testScreen();
    expect(() => reportAnswer(refused('expired'), { id: 't/1.1', json: true }, screen)).toThrow('expired');
    expect(JSON.parse(screen.printed.join(''))).toMatchObject({
      status: 'refused',
      verdict: { code: 'expired' },
    });
  });
});

it.each<[string, Answer, string]>([
  ['that was taken', accepted(), 't/1.1 approved'],
  [
    'that waits for votes',
    accepted({ needs: { approvals: 1, who: ['ben'] } }),
    't/1.1 approved, and it waits: 1 more approval needed; ben may vote',
  ],
  [
    'that waits on record',
    { status: 'recorded', decisionId: 'd' },
    't/1.1 recorded; it takes effect if a worker takes it up before the deadline',
  ],
  ['that was refused', refused('expired'), 't/1.1 refused, expired: no'],
])('says in one line what became of a decision %s', (_name, answer, line) => {
  expect(answerLine(answer, 't/1.1', createStyle(false))).toBe(line);
});
