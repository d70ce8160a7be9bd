import { setTimeout as delay } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { CountersignError } from '../contract/errors';
import { DEPLOYMENT, SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { readFirst } from '../history/read-run';
import {
  ask,
  detailsOf,
  grpcStatusOf,
  retry,
  STATUS,
  toCountersignError,
  unlessGone,
} from '../history/server-errors';
import type { ClientContext } from './context';
import { listPages, quoted } from './list';
import type { Build, BuildId, Builds } from './types';

const { WorkerDeploymentVersionStatus: Status, RoutingConfigUpdateState: Changing } = temporal.api.enums.v1;

type Summary = temporal.api.deployment.v1.WorkerDeploymentInfo.IWorkerDeploymentVersionSummary;

/** The server's own search attribute: the build that a workflow is pinned to. */
const VERSION = 'TemporalWorkerDeploymentVersion';

/** A visibility filter: open workflows of a type that are pinned to a build. */
export function openOn({ deployment = DEPLOYMENT, build }: BuildId, type: string): string {
  const version = quoted(`${deployment}:${build}`);
  return `ExecutionStatus = 'Running' AND WorkflowType = '${type}' AND ${VERSION} = ${version}`;
}

/**
 * The builds of a deployment and what is open on each. Undefined if no worker was ever started as a build. Needs no
 * worker.
 */
export async function readBuilds(
  context: ClientContext,
  deployment = DEPLOYMENT,
): Promise<Builds | undefined> {
  const found = await readDeployment(context, deployment);
  if (found === undefined) return undefined;
  const { current } = found;
  const builds: Build[] = [];
  for (const { build, state } of found.builds) {
    // The server says itself that nothing is open on such a build.
    const isOver = state === 'drained' || state === 'unused';
    const counts = isOver ? NOTHING : await countOpen(context, { deployment, build });
    const resets = state === 'draining' ? await resetsOn(context, { deployment, build }) : [];
    builds.push({ build, state, ...counts, resets: resets.length === 0 ? undefined : resets });
  }
  return { deployment, current, builds };
}

type Counts = Pick<Build, 'turns' | 'waiting' | 'inDoubt' | 'sessions'>;

const NOTHING: Counts = { turns: 0, waiting: 0, inDoubt: 0, sessions: 0 };

/** A deployment as the server knows it, without the counts of what is open. */
interface Deployment {
  current: string | null;
  builds: Pick<Build, 'build' | 'state'>[];
  /** Another build was made current, and some queues do not follow it yet. */
  isChanging: boolean;
}

/** A deployment. Undefined if no worker was ever started as one of its builds. */
async function readDeployment(context: ClientContext, deployment: string): Promise<Deployment | undefined> {
  const info = await describe(context, deployment);
  if (info === undefined) return undefined;
  const builds = (info.versionSummaries ?? []).map((summary) => ({
    build: summary.deploymentVersion?.buildId ?? '',
    state: stateOf(summary),
  }));
  return {
    current: info.routingConfig?.currentDeploymentVersion?.buildId || null,
    builds,
    isChanging: info.routingConfigUpdateState === Changing.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS,
  };
}

/** The longest wait for the queues to follow the current build. */
const FOLLOW_MS = 15_000;
const LOOK_MS = 100;

/**
 * A deployment once every queue follows its current build. A turn that moves before that could get the old build again.
 */
export async function settledDeployment(
  context: ClientContext,
  deployment: string,
): Promise<Deployment | undefined> {
  const until = performance.now() + FOLLOW_MS;
  for (;;) {
    const found = await readDeployment(context, deployment);
    if (found?.isChanging !== true || performance.now() > until) return found;
    await delay(LOOK_MS);
  }
}

async function describe(context: ClientContext, deploymentName: string) {
  const { connection, namespace } = context;
  const request = { namespace, deploymentName };
  const asked = ask(context, `reading the deployment ${deploymentName}`, async () => {
    const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment(request);
    return workerDeploymentInfo ?? undefined;
  });
  return asked.catch((error: unknown) => {
    if (grpcStatusOf(error) === STATUS.notFound) return undefined;
    throw error;
  });
}

function stateOf({ status }: Summary): Build['state'] {
  switch (status) {
    case Status.WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT:
      return 'current';
    case Status.WORKER_DEPLOYMENT_VERSION_STATUS_RAMPING:
      return 'ramping';
    case Status.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING:
      return 'draining';
    case Status.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED:
      return 'drained';
    default:
      return 'unused';
  }
}

async function countOpen(context: ClientContext, build: BuildId): Promise<Counts> {
  const { lister } = context;
  const count = (query: string) =>
    ask(context, 'counting turns', async () => (await lister.workflow.count(query)).count);
  const turns = openOn(build, WORKFLOWS.turn);
  const inState = (state: string) => `${turns} AND ${SEARCH_ATTRIBUTES.state} = '${state}'`;
  return {
    turns: await count(turns),
    waiting: await count(inState('waiting')),
    inDoubt: await count(inState('in_doubt')),
    sessions: await count(openOn(build, WORKFLOWS.session)),
  };
}

/** The most turns of a build that are looked at. */
const MOST_LOOKED = 10;

/** The turns of a build whose run was made by a reset, among the first ones. The first event names the run before. */
async function resetsOn(context: ClientContext, build: BuildId) {
  const pages = listPages(context.lister, openOn(build, WORKFLOWS.turn), MOST_LOOKED);
  const page = await ask(context, 'listing turns', () => pages.next());
  const turns = page.done === true ? [] : page.value;
  const found = await Promise.all(
    turns.map(async ({ workflowId: turn, runId }) => {
      const first = await unlessGone(readFirst(context.source, { turn, runId }));
      const { originalExecutionRunId: before = runId } = first?.workflowExecutionStartedEventAttributes ?? {};
      return before === runId ? [] : [turn];
    }),
  );
  return found.flat();
}

/**
 * The time for which making a build current is retried. The server learns the build of a new worker some moments after
 * its start, queue by queue.
 */
const KNOWN_MS = 20_000;

/**
 * Makes a build the current one, on which new turns begin. Waits for a while if the workers of the build have only
 * just started.
 */
export async function makeCurrent(
  context: ClientContext,
  { deployment = DEPLOYMENT, build }: BuildId,
): Promise<void> {
  // The server reads an empty name as "no build", so turns would begin on workers without a build.
  if (build.trim() === '') throw new CountersignError('usage', 'a build needs a name');
  const { client, connection, namespace } = context;
  const { identity } = client.options;
  const request = { namespace, deploymentName: deployment, buildId: build, identity };
  const passes = (error: unknown) =>
    grpcStatusOf(error) === STATUS.notFound || grpcStatusOf(error) === STATUS.failedPrecondition;
  try {
    await retry({ passes, forMs: KNOWN_MS, everyMs: 500 }, () =>
      connection.withDeadline(Date.now() + KNOWN_MS, () =>
        connection.workflowService.setWorkerDeploymentCurrentVersion(request),
      ),
    );
    await settledDeployment(context, deployment);
  } catch (error) {
    throw refusal(error, { deployment, build });
  }
}

function refusal(error: unknown, { deployment, build }: Required<BuildId>) {
  const data = { deployment, build };
  if (grpcStatusOf(error) === STATUS.notFound) return buildNotFound({ deployment, build }, error);
  if (grpcStatusOf(error) !== STATUS.failedPrecondition)
    return toCountersignError(error, `making build ${build} current`);
  const message = `build ${build} cannot be the current one: ${detailsOf(error)}`;
  const hint = 'start its workers on every queue that the current build has: countersign worker --build-id';
  return new CountersignError('refused', message, { hint, data, cause: error });
}

/** The error for a build id that no worker of the deployment ever had. */
export function buildNotFound({ deployment, build }: Required<BuildId>, cause?: unknown): CountersignError {
  return new CountersignError('not_found', `deployment ${deployment} has no build ${build}`, {
    hint: 'countersign doctor lists its builds; countersign worker --build-id starts a worker of one',
    data: { deployment, build },
    cause,
  });
}
