import { ServiceError } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { ClientContext } from '../../src/client/context';
import { drainBuild } from '../../src/client/drain';
import type { Drained } from '../../src/client';
import { STATUS } from '../../src/history/server-errors';
import { grpcError } from '../history/fake-server';
import { listed } from './listing';

const { WorkerDeploymentVersionStatus: Status } = temporal.api.enums.v1;
const DRAINING = Status.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING;

/** Drains the build `old`, on which one turn is open. To move it fails so, and then the turn is over. */
async function drained(failure: Error): Promise<Drained[]> {
  const workflowService = {
    describeWorkerDeployment: async () => ({
      workerDeploymentInfo: {
        versionSummaries: [{ deploymentVersion: { buildId: 'old' }, status: DRAINING }],
        routingConfig: { currentDeploymentVersion: { buildId: 'new' } },
      },
    }),
    describeWorkflowExecution: async () => ({
      workflowExecutionInfo: { execution: { runId: 'turn-1-run' }, closeTime: {} },
    }),
  };
  const connection = {
    workflowService,
    withDeadline: async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act(),
  };
  const list = async function* ({ query }: { query: string }) {
    if (query.includes("WorkflowType = 'agentTurn'")) yield listed('turn-1', 1, {});
  };
  const getHandle = () => ({
    executeUpdate: async () => {
      throw failure;
    },
  });
  const context = {
    ...{ connection, namespace: 'default', source: { connection, namespace: 'default' } },
    ...{ lister: { workflow: { list } }, client: { workflow: { getHandle } } },
  } as unknown as ClientContext;
  const all: Drained[] = [];
  for await (const one of drainBuild(context, { build: 'old' }, { spreadMs: 0 })) all.push(one);
  return all;
}

const refused = (code: number, details: string): Error =>
  new ServiceError('failed', { cause: grpcError(code, details) });
const total = 'limit 2000 on the total number of distinct updates in this workflow run has been reached';

test.each<[string, Error, object]>([
  [
    'a run that takes no more updates',
    refused(STATUS.resourceExhausted, total),
    { outcome: 'held', why: 'busy', reason: total },
  ],
  [
    'a server that limits how often it is asked',
    refused(STATUS.resourceExhausted, 'namespace rate limit exceeded'),
    { outcome: 'held', why: 'busy', reason: 'namespace rate limit exceeded' },
  ],
  ['a run that ends at this moment', refused(STATUS.unavailable, 'closing'), { outcome: 'ended' }],
  ['a run that is gone', refused(STATUS.notFound, 'gone'), { outcome: 'ended' }],
])('drain says what became of %s', async (_, failure, expected) => {
  await expect(drained(failure)).resolves.toEqual([{ id: 'turn-1', ...expected }]);
});
