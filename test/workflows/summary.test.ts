import { LIMITS } from '../../src/contract/limits';
import { utf8Bytes } from '../../src/contract/text/bytes';
import type { SignalVerdict } from '../../src/contract/decision';
import { currentDetails, openCalls, openMemo, summaryOf, verdictsMemo } from '../../src/workflows/summary';
import { approvalsWith } from '../support/calls';

const statesOf = (count: number, size = 1) => {
  const shapes = Array.from({ length: count }, (_, index) => ({
    callId: `1.${index + 1}`,
    args: { to: 'é\n'.repeat(size) },
  }));
  return openCalls(approvalsWith(...shapes).state.calls.values());
};

it('is one line of at most 80 characters', () => {
  const [state] = statesOf(1, 100);
  if (state === undefined) throw new Error('no call');
  const summary = summaryOf(state);
  expect(summary).toMatch(/^1\.1 pay to=é é /);
  expect(summary).not.toContain('\n');
  expect(summary.length).toBeLessThanOrEqual(80);
});

it('is null where nothing waits', () => {
  expect(openMemo([], { stepKey: 'k' })).toBeNull();
});

it('names the model where people should know something about its reply', () => {
  const by = { model: 'local', notes: ['fallback' as const] };
  expect(openMemo(statesOf(1, 100), { stepKey: 'k', by })).toMatchObject({ key: 'k', by });
});

it.each([1, 20, 64])('counts all of %d and names at most 20, within the memo limit', (count) => {
  const memo = openMemo(statesOf(count, 100), { stepKey: 'k' });
  expect(memo?.count).toBe(count);
  expect(memo?.items.length).toBeLessThanOrEqual(20);
  expect(memo?.items.length).toBeGreaterThan(0);
  expect(utf8Bytes(JSON.stringify(memo))).toBeLessThanOrEqual(LIMITS.memoBytes / 2);
});

it('lists requests and calls in doubt, in order, and nothing else', () => {
  const approvals = approvalsWith(
    { kind: 'run' },
    { callId: '1.2' },
    { callId: '1.3', kind: 'run', expiresMs: null },
  );
  approvals.start();
  approvals.lose('1.1', 5);
  const open = openCalls(approvals.state.calls.values());
  expect(openMemo(open, { stepKey: 'k' })?.items).toMatchObject([
    { callId: '1.1', kind: 'in_doubt', deadline: null, since: new Date(5).toISOString() },
    { callId: '1.2', kind: 'request', deadline: new Date(60_000).toISOString() },
  ]);
  expect(currentDetails(open, 1)).toContain('**in doubt**: `1.1` pay: lost');
  expect(currentDetails([], 3)).toBe('Step 3');
});

it('keeps the newest verdicts that fit', () => {
  const verdicts: SignalVerdict[] = Array.from({ length: 50 }, (_, index) => ({
    callId: '1.1',
    verdict: 'malformed',
    decisionId: `${index}-${'x'.repeat(150)}`,
    at: '2026-01-01T00:00:00.000Z',
  }));
  const kept = verdictsMemo(verdicts, 3);
  expect(kept.at(-1)).toEqual({ ...verdicts.at(-1), behind: 3 });
  expect(kept.length).toBeGreaterThan(3);
  expect(utf8Bytes(JSON.stringify(kept))).toBeLessThan(LIMITS.memoBytes / 2);
});

it("gives Temporal's own UI no link of a model, and lists the words as they are", () => {
  const args = { to: '[Approve](https://evil.example)' };
  const approvals = approvalsWith({ args }, { kind: 'run', callId: '1.2' });
  const [state] = openCalls(approvals.state.calls.values());
  if (state === undefined) throw new Error('no call');
  expect(summaryOf(state)).toBe('1.1 pay to=\\[Approve\\](https://evil.example)');
  expect(openMemo([state], { stepKey: 'k' })?.items[0]?.summary).toBe(
    '1.1 pay to=[Approve](https://evil.example)',
  );
  approvals.start('1.2');
  const message = 'lost\n- [x](https://evil.example)';
  approvals.do({ type: 'settle', callId: '1.2', settlement: { inDoubt: { message } } }, 5);
  expect(currentDetails(openCalls(approvals.state.calls.values()).slice(1), 1)).toBe(
    '- **in doubt**: `1.2` pay: lost - \\[x\\](https://evil.example)',
  );
});
