import type { Authority } from '../../../src/contract/authority/authority';
import { UPDATES } from '../../../src/contract/names';
import { countersignControl } from '../../../src/workflows/control/countersign-control';
import { endWorkflow, jobs, lines, WorkflowUnderTest } from '../../support/workflow';

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

it.each([2, 200])('takes a grant that %i people may confirm, as many as a rule may name', async (people) => {
  const { workflow } = await WorkflowUnderTest.start(countersignControl, { now: NOW });
  const commands = await workflow.task([jobs.update(UPDATES.grant, asked(people))]);
  expect(lines(commands)).toEqual(['accept update', 'memo grants', 'complete update']);
});
