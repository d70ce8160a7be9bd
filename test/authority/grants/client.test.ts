import type { Client } from '@temporalio/client';
import { makeGrants } from '../../../src/authority/grants/client';
import type { ClientContext } from '../../../src/client/context';
import { MEMO, WORKFLOWS } from '../../../src/contract/names';
import { withoutWaits } from '../../support/without-waits';

const ID = '00000000-0000-4000-8000-000000000001';
const DIGEST = 'a'.repeat(64);
const TERMS = {
  ...{ id: ID, agent: 'clerk', tool: 'pay', toolDigest: DIGEST, ruleDigest: '', policyDigest: '' },
  ...{ narrowing: {}, times: 3, by: 'ann' },
  ...{ at: '2026-11-25T12:00:00.000Z', until: '2126-11-25T13:00:00.000Z' },
};
const shown = (more: object = {}, workflowId = `countersign-grant-${ID}`) => ({
  ...{ workflowId, runId: 'r', type: WORKFLOWS.grant, status: { name: 'RUNNING' } },
  memo: { [MEMO.grant]: { ...TERMS, takenAt: TERMS.at, ...more }, [MEMO.uses]: 2 },
});

/** A client whose server lists these workflows, and the signals that they got. No worker answers an update. */
function contextOf(...listed: object[]): { context: ClientContext; signals: string[] } {
  const signals: string[] = [];
  const silent = () =>
    Promise.reject(Object.assign(new Error('late'), { name: 'WorkflowUpdateRPCTimeoutOrCancelledError' }));
  const handle = {
    describe: async () => listed[0],
    executeUpdate: silent,
    signal: async (name: string) => void signals.push(name),
  };
  const withDeadline = (_: number, call: () => unknown) => call();
  const list = async function* () {
    yield* listed;
  };
  const client = {
    ...{ withDeadline, connection: { withDeadline } },
    workflow: { getHandle: () => handle, list },
  } as unknown as Client;
  const context = { client, lister: client, connection: { withDeadline } } as unknown as ClientContext;
  return { context, signals };
}

it.each<[string, object, number]>([
  ['one that holds', shown(), 1],
  ['none that was revoked', shown({ revoked: true }), 0],
  ['none whose time is over', shown({ until: '2026-11-25T12:30:00.000Z' }), 0],
  ['none in the name of another', shown({}, 'countersign-grant-other'), 0],
  ['none in another form', shown({ all: true }), 0],
  ['none without a memo', { ...shown(), memo: undefined }, 0],
])('lists %s', async (_case, listed, count) => {
  const { grants } = await makeGrants(contextOf(listed).context).list();
  expect(grants).toEqual(count === 0 ? [] : [{ ...TERMS, takenAt: TERMS.at, used: 2 }]);
});

it('records a revocation where no worker answers', async () => {
  const { context, signals } = contextOf(shown());
  const revoked = await withoutWaits(() => makeGrants(context).revoke({ id: ID, by: 'ann' }));
  expect(revoked).toEqual({ ended: [TERMS], recorded: true });
  expect(signals).toEqual(['revoke']);
});
