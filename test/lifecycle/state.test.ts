import { LIMITS } from '../../src/contract/limits';
import { carriedDecisions, makeApprovals, type SpentId } from '../../src/lifecycle/state';

const spentBy = (approver: string, at: number): [string, SpentId] => {
  const head = { decisionId: `d${at}`, callId: `${at}.1`, at: '2026-11-22T12:00:00.000Z' };
  return [
    `d${at}`,
    { digest: 'f'.repeat(64), verdict: { accepted: true, decision: 'approved', approver, ...head } },
  ];
};

const carriedOf = (count: number, approver: string): [string, SpentId][] =>
  carriedDecisions(makeApprovals(Array.from({ length: count }, (_, at) => spentBy(approver, at))));

it('carries the newest 200 decisions, in order', () => {
  const carried = carriedOf(300, 'ann');
  expect(carried).toHaveLength(200);
  expect([carried.at(0)?.[0], carried.at(-1)?.[0]]).toEqual(['d100', 'd299']);
});

it.each([
  ['names of 4 KB', 'x'.repeat(4096)],
  ['names of 4 KB that take twice as many bytes', 'ü'.repeat(4096)],
])('leaves room for a whole transcript in one payload, with %s', (_what, approver) => {
  const carried = carriedOf(200, approver);
  const bytes = Buffer.byteLength(JSON.stringify(carried));
  expect(bytes).toBeLessThanOrEqual(LIMITS.carriedDecisionBytes + carried.length + 2);
  expect(bytes + LIMITS.transcriptBytes).toBeLessThan(2 * 1024 * 1024);
  expect(carried.length).toBeGreaterThan(20);
  expect(carried.at(-1)?.[0]).toBe('d199');
});

it('carries nothing where there is nothing', () => {
  expect(carriedOf(0, 'ann')).toEqual([]);
});
