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

const OVER = [{ execution: { runId: 'turn-1-run' }, closeTime: {} }];

/**
 * Drains the build `old`, on which one turn is open. To move it fails so, or does not fail. `runs` are those that the
 * server then tells of, one each time that it is asked, the last one for good.
 */
async function drained(failure?: Error, runs: readonly object[] = OVER): Promise<Drained[]> {
  const told = [...runs];
  const workflowService = {
    describeWorkerDeployment: async () => ({
      workerDeploymentInfo: {
        versionSummaries: [{ deploymentVersion: { buildId: 'old' }, status: DRAINING }],
        routingConfig: { currentDeploymentVersion: { buildId: 'new' } },
      },
    }),
    describeWorkflowExecution: async () => ({
      workflowExecutionInfo: told.length > 1 ? told.shift() : told[0],
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
      if (failure !== undefined) throw failure;
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

test.each([-3_600_000, 3_600_000])(
  'drain moves a turn where the time of day jumps by %d ms',
  async (jump) => {
    let now = 0;
    const wall = jest.spyOn(Date, 'now').mockImplementation(() => (now += jump));
    const [before, after] = ['turn-1-run', 'next'].map((runId) => ({ execution: { runId } }));
    const moved = drained(
      undefined,
      [before, before, before, before, after].map((run) => ({ ...run })),
    );
    await expect(moved.finally(() => wall.mockRestore())).resolves.toEqual([
      { id: 'turn-1', outcome: 'moved' },
    ]);
  },
);
