import { LIMITS } from '../../src/contract/limits';
import { apply } from '../../src/lifecycle/events';
import { type Approvals, carriedDecisions, makeApprovals, type SpentId } from '../../src/lifecycle/state';

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

/** The state after so many accepted messages. */
const acceptedBy = (count: number): Approvals =>
  Array.from({ length: count }, (_, at) => spentBy('ann', at)).reduce<Approvals>(
    (state, [, { digest, verdict }]) =>
      verdict.accepted ? apply(state, { type: 'accepted', verdict, digest, isHeard: false }) : state,
    makeApprovals(),
  );

it('does not copy all verdicts at each message', () => {
  const copies = jest.spyOn(Map.prototype, 'set');
  acceptedBy(2000);
  const { length } = copies.mock.calls;
  copies.mockRestore();
  expect(length).toBeLessThan(2000 * 20);
});

it('knows each verdict in its order, also one that was voided', () => {
  const before = acceptedBy(100);
  const [id, { digest }] = spentBy('ann', 3);
  const state = apply(before, { type: 'verdicts_voided', callId: '3.1', ids: [id, 'other'], why: 'no' });
  expect(state.verdicts.all.map(([one]) => one)).toEqual(Array.from({ length: 100 }, (_, at) => `d${at}`));
  expect(state.verdicts.get(id)).toMatchObject({ digest, verdict: { accepted: false, code: 'stale_args' } });
  expect(before.verdicts.get(id)).toMatchObject({ verdict: { accepted: true } });
  expect(state.verdicts.get('other')).toBeUndefined();
});
