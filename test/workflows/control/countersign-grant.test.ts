import { SIGNALS, UPDATES } from '../../../src/contract/names';
import { countersignGrant } from '../../../src/workflows/control/countersign-grant';
import { endWorkflow, jobs, lines, WorkflowUnderTest } from '../../support/workflow';
import type { Authority } from '../../../src/contract/authority';

afterEach(endWorkflow);

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const iso = (ms: number): string => new Date(NOW + ms).toISOString();
const DIGEST = 'a'.repeat(64);

/** A grant that several of these people have to confirm. */
function asked(people: number) {
  const groups = ['accounts-payable-and-receivable', 'finance-of-the-northern-countries', 'on-call'];
  const names = Array.from({ length: people }, (_, n) => `somebody.with.a.rather.long.name.${n}`);
  const authority: Authority = {
    ...{ fileDigest: DIGEST, ruleDigest: DIGEST, requesters: ['anna'] },
    rule: {
      ...{ name: 'two', then: 'ask', rosters: [groups.map((one) => `group:${one}`)], need: 2, groups: [] },
      ...{ notRequester: true, denyNeeds: 1, assurance: 'claimed' },
    },
    people: names.map((name) => ({ name, groups, delegates: [], mail: `${name}@finance.example.com` })),
  };
  return {
    ...{ id: '00000000-0000-4000-8000-000000000001', agent: 'clerk', tool: 'pay', toolDigest: DIGEST },
    ...{ ruleDigest: DIGEST, policyDigest: '', narrowing: {}, times: 3, until: iso(3_600_000), at: iso(0) },
    ...{ by: names[0], authority },
  };
}

const info = { workflowId: 'countersign-grant-00000000-0000-4000-8000-000000000001' };
const start = (input: object) => WorkflowUnderTest.start(countersignGrant, { now: NOW, args: [input], info });
const { authority: _, ...alone } = asked(2);
const use = { agent: 'clerk', tool: 'pay', toolDigest: DIGEST, ruleDigest: DIGEST, policyDigest: '' };

it.each([2, 200])('takes a grant that %i people may confirm, as many as a rule may name', async (people) => {
  const { commands } = await start(asked(people));
  expect(lines(commands)).toEqual(['memo grant', 'memo uses', 'start timer 1']);
});

it.each([
  ['that is none', { ...alone, all: true }],
  ['that is over', { ...alone, until: iso(0) }],
  ['of another id', { ...alone, id: '00000000-0000-4000-8000-000000000002' }],
])('ends at once for one %s', async (_case, input) => {
  const { commands } = await start(input);
  expect(lines(commands)).toEqual(['failWorkflowExecution']);
});

it('counts uses, and allows none once it was revoked, by update or by signal', async () => {
  for (const revoke of [
    jobs.update(UPDATES.revoke, { by: 'ann' }),
    jobs.signal(SIGNALS.revoke, { by: 'ann' }),
  ]) {
    const { workflow } = await start(alone);
    const claimed = await workflow.task([jobs.update(UPDATES.use, use, 'a')]);
    expect(lines(claimed)).toEqual(['accept update', 'memo uses', 'complete update']);
    expect(lines(await workflow.task([revoke]))).toContain('memo grant');
    expect(lines(await workflow.task([jobs.update(UPDATES.use, use, 'b')]))).toEqual(['reject update']);
    endWorkflow();
  }
});

it('takes no bad signal, ignores a cancellation, and ends when the grant does', async () => {
  const { workflow } = await start(alone);
  expect(lines(await workflow.task([jobs.signal(SIGNALS.revoke, { all: true })]))).toEqual([]);
  expect(lines(await workflow.task([jobs.cancel()]))).toEqual([]);
  expect(lines(await workflow.task([jobs.fired(1)], 3_600_000))).toEqual(['completeWorkflowExecution']);
});
