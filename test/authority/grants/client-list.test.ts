import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { LIMITS } from '../../../src/contract/limits';
import { MEMO, WORKFLOWS } from '../../../src/contract/names';
import { openGrants, readGrant } from '../../../src/authority/grants/client-list';

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const DIGEST = 'a'.repeat(64);
const listed = (n: number, more: object = {}, status = 'RUNNING') => {
  const at = '2026-11-25T12:00:00.000Z';
  const grant = {
    ...{ id: idOf(n), agent: 'clerk', tool: 'pay', toolDigest: DIGEST, ruleDigest: '', policyDigest: '' },
    ...{ narrowing: {}, times: 3, by: 'ann', at, takenAt: at, until: '2026-11-25T13:00:00.000Z', ...more },
  };
  return {
    ...{ workflowId: `countersign-grant-${idOf(n)}`, runId: 'r', type: WORKFLOWS.grant },
    ...{ status: { name: status }, memo: { [MEMO.grant]: grant, [MEMO.uses]: 1 } },
  };
};

/** A client whose server lists these, newest first, and describes the first of them. */
function clientOf(...all: object[]): Client {
  const describe = async () => {
    if (all[0] === undefined) throw new WorkflowNotFoundError('gone', 'w', undefined);
    return all[0];
  };
  const list = async function* () {
    yield* all;
  };
  return { workflow: { list, getHandle: () => ({ describe }) } } as unknown as Client;
}

it('lists grants, oldest first, without those that were revoked or cannot be read', async () => {
  const other = { ...listed(4), workflowId: 'countersign-grant-x' };
  const all = [listed(3), listed(2, { revoked: true }), other, listed(5, { all: true }), listed(1)];
  const found = await openGrants(clientOf(...all));
  expect(found.map(({ id, used }) => [id, used])).toEqual([
    [idOf(1), 1],
    [idOf(3), 1],
  ]);
});

it('reads no more than the newest', async () => {
  const all = Array.from({ length: LIMITS.grants + 1 }, (_, n) => listed(LIMITS.grants + 1 - n));
  const found = await openGrants(clientOf(...all));
  expect(found).toHaveLength(LIMITS.grants);
  expect(found[0]?.id).toBe(idOf(2));
});

it.each<[string, object[], boolean]>([
  ['one that is open', [listed(1)], true],
  ['one that was revoked, for whoever asks whether it holds', [listed(1, { revoked: true })], true],
  ['none that has ended', [listed(1, {}, 'COMPLETED')], false],
  ['none of another type', [{ ...listed(1), type: 'other' }], false],
  ['none where there is none', [], false],
])('reads %s', async (_case, all, isFound) => {
  const found = await readGrant(clientOf(...all), idOf(1));
  expect(found !== undefined).toBe(isFound);
});
