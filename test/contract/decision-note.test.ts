import { decisionNote, withDecisionNote } from '../../src/contract/decision-note';
import type { CallInput } from '../../src/contract/call';
import type { JsonObject } from '../../src/contract/json';

const note = (
  decision: Partial<NonNullable<CallInput['decision']>> | undefined,
  proposed?: JsonObject,
  args: JsonObject = {},
) =>
  decisionNote({
    arguments: args,
    ...(decision === undefined
      ? {}
      : { decision: { decisionId: 'd', decision: 'approved', approver: 'ann', ...decision } }),
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
    decision: { decisionId: 'd', decision: 'modified' as const, ...said, edit: said },
    proposed: { amount: 500 },
    arguments: { amount: 50 },
  };
  const once = withDecisionNote(call, 'paid');
  expect(once).toMatch(/^\[ann changed[^]+\]\n\npaid$/);
  expect(withDecisionNote(call, once)).toBe(once);
  expect(withDecisionNote({ arguments: {} }, 'paid')).toBe('paid');
});
