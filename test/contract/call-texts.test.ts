import {
  afterDoubt,
  decisionNote,
  denied,
  didNot,
  ENDINGS,
  happened,
  unprepared,
  withDecisionNote,
  mayHaveRun,
} from '../../src/contract/call-texts';
import type { CallInput } from '../../src/contract/call';
import type { ToolFailure } from '../../src/contract/result';
import type { JsonObject } from '../../src/contract/json';

it.each([
  [undefined, 'ann denied this call: no reason was given. Nothing ran.'],
  ['', 'ann denied this call: no reason was given. Nothing ran.'],
  ['too much', 'ann denied this call: too much. Nothing ran.'],
])('a denial with reason %p', (reason, message) => {
  expect(denied({ approver: 'ann', reason })).toEqual({ code: 'denied', message });
});

it('gives the model what a person wants instead, as the words of that person', () => {
  const said = { approver: 'ann', reason: 'too much', suggestion: 'Refund 5 EUR' };
  const message = 'ann denied this call: too much. Do this instead, says ann: Refund 5 EUR. Nothing ran.';
  expect(denied(said)).toEqual({ code: 'denied', message });
  expect(afterDoubt(denied(said)).message).toMatch(/An earlier attempt of it may have run\.$/);
});

it('tells what a person found', () => {
  expect(didNot({ approver: 'ann', reason: 'looked' })).toEqual({
    code: 'transport',
    message: 'The call was interrupted. ann found that it did not take effect. Reason: looked',
  });
  expect(happened({ approver: 'ann' }, undefined)).toBe(
    'The call was interrupted. ann found that it did take effect.',
  );
  expect(happened({ approver: 'ann' }, 'refund 7')).toMatch(/take effect\.\n\nrefund 7$/);
});

it('names the tool that could not be prepared', () => {
  expect(unprepared('pay', 'no answer')).toEqual({
    code: 'transport',
    message: 'The worker that has pay could not prepare this call: no answer. Nothing ran.',
  });
});

describe('decisionNote', () => {
  const note = (
    decision: Partial<NonNullable<CallInput['decision']>> | undefined,
    proposed?: JsonObject,
    args: JsonObject = {},
  ) =>
    decisionNote({
      arguments: args,
      ...(decision === undefined
        ? {}
        : {
            decision: { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: '', ...decision },
          }),
      ...(proposed === undefined ? {} : { proposed }),
    });

  it('says nothing where a person said nothing', () => {
    expect(note(undefined)).toBeUndefined();
    expect(note({})).toBeUndefined();
    expect(note({ reason: '' })).toBeUndefined();
  });

  it('passes a remark on', () => {
    expect(note({ reason: 'fine, but last time' })).toBe(
      '[ann approved this call. Reason: fine, but last time]',
    );
  });

  it('tells what was changed, by whom and why, and not to redo it', () => {
    const said = { approver: 'ann', reason: 'too much' };
    const text = note({ ...said, edit: said }, { amount: 500, to: 'x' }, { amount: 50, to: 'x', memo: 'm' });
    expect(text).toContain('ann changed the arguments of this call before it ran. Reason: too much');
    expect(text).toContain('amount: 500 → 50');
    expect(text).toContain('memo: (absent) → "m"');
    expect(text).not.toContain('to:');
    expect(text).toContain('Do not ask for the original again.');
  });

  it('cuts long values and still shows that they differ at their end', () => {
    const long = 'x'.repeat(1000);
    const text = note({ edit: { approver: 'ann' } }, { text: `${long}a` }, { text: `${long}b` }) ?? '';
    expect(text).toContain('text: "xxx');
    expect(text.length).toBeLessThan(1000);
  });

  it('tells who changed and who approved, where that is not the same person', () => {
    const decision = { approver: 'root', reason: 'fine', edit: { approver: 'ann', reason: 'shorter' } };
    const text = note(decision, { amount: 500 }, { amount: 50 });
    expect(text).toMatch(/^\[ann changed the arguments of this call before it ran\. Reason: shorter\n/);
    expect(text).toContain('\nroot approved this call. Reason: fine\n');
  });

  it('stands before the content once, however often it is put there', () => {
    const said = { approver: 'ann', reason: 'less' };
    const call = {
      decision: { decisionId: 'd', decision: 'modified' as const, seenDigest: '', ...said, edit: said },
      proposed: { amount: 500 },
      arguments: { amount: 50 },
    };
    const once = withDecisionNote(call, 'paid');
    expect(once).toMatch(/^\[ann changed[^]+\]\n\npaid$/);
    expect(withDecisionNote(call, once)).toBe(once);
    expect(withDecisionNote({ arguments: {} }, 'paid')).toBe('paid');
  });
});

it.each<[string, string]>([
  [
    'expired',
    'Nobody decided on this call in time. It expired and counts as denied; an earlier attempt of it may have run.',
  ],
  ['withdrawn', 'The request was withdrawn before anybody decided. An earlier attempt of it may have run.'],
  ['neverStarted', 'The turn was cancelled before this call started. An earlier attempt of it may have run.'],
])('a call that had run before does not say that nothing ran: %s', (ending, message) => {
  const failure = Object.entries(ENDINGS).find(([name]) => name === ending)?.[1];
  expect(failure && afterDoubt(failure).message).toBe(message);
});

it.each<ToolFailure['code']>(['transport', 'in_doubt', 'tool', 'unknown'])(
  'the end of a failure of code %s may be the words of a person or of a tool, and stays',
  (code) => {
    const failure = { code, message: 'Reason: I looked, and nothing ran.' };
    expect(afterDoubt(failure)).toEqual(failure);
  },
);

it.each<[string, Parameters<typeof mayHaveRun>[0], boolean]>([
  ['first', { generation: 0 }, false],
  ['after a person let it run again', { generation: 1 }, true],
  ['after a lost attempt', { generation: 0, mayHaveRun: true }, true],
])('whether an earlier attempt of a call may have run: %s', (_, call, expected) => {
  expect(mayHaveRun(call)).toBe(expected);
});
