import type { Client, ConnectionLike } from '@temporalio/client';
import type { Build, Builds, Countersign } from '../../client';
import { approversOf, type LiveWorker, type PolledQueue, workersOf } from '../../client/pollers';
import { OURS, quoted } from '../../client/list';
import { DEPLOYMENT, SEARCH_ATTRIBUTES, WORKFLOWS } from '../../contract/names';
import {
  CONTROL_HINTS,
  CONTROL_STATES,
  controlTrouble,
  type Pauses,
  pauseText,
} from '../../authority/pauses/pause';
import { shellWord } from '../../contract/text/shell-word';
import { registerCommand } from '../../engine/search-attributes';
import { ATTRIBUTE_TYPES } from '../../engine/server-args';
import { counted } from '../../history/labels';
import { STATUS, grpcStatusOf, toCountersignError } from '../../history/server-errors';
import { checked, type Finding, type Found, SERVER } from './machine';
import { checkPriorities, checkTransitions } from './probes';
import { toolSetIn } from '../../contract/worker-name';

/** The most time for one request, in milliseconds. */
const ASK_MS = 10_000;

/**
 * What the server answers, and what is registered, paused and polled there.
 *
 * @throws CountersignError as `requireAccess`.
 */
export async function checkServer(
  client: Countersign,
  queues: readonly string[],
  deployment: string,
): Promise<Finding[]> {
  await requireAccess(client);
  return [
    { name: SERVER, state: 'ok', detail: `answers; namespace ${client.namespace}` },
    await checkAttributes(client),
    await checkTransitions(client),
    await checkPriorities(client),
    await checkTasks(client),
    await checkOtherWorkflows(client),
    await checkPauses(client),
    await checkBuilds(client, deployment),
    ...(await Promise.all([
      ...queues.map((name, at) => checkQueue(client, { name, half: at === 0 ? 'turns' : 'activities' })),
      ...queues.slice(0, 1).flatMap((main) => [checkAgents(client, main), checkApprovers(client, main)]),
    ])),
  ];
}

/**
 * Makes a request that the server authorises. Connecting alone proves nothing: a server accepts every connection.
 *
 * @throws CountersignError `server_failed` if the server refuses, `not_ready`, `no_server`.
 */
async function requireAccess({ client }: Countersign) {
  try {
    await client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflow.count("ExecutionStatus = 'Running'"),
    );
  } catch (error) {
    throw toCountersignError(error, 'counting turns');
  }
}

/** Makes a check that asks the server. `what` begins the message of a request that fails. */
function asked(name: string, what: string, check: () => Promise<Found>) {
  return checked(name, () =>
    check().catch((error: unknown) => {
      throw toCountersignError(error, what);
    }),
  );
}

/** Whether the namespace has the search attributes that the inbox needs. */
function checkAttributes(client: Countersign) {
  return checked('search attributes', async () => {
    const missing: string[] = [];
    for (const attribute of Object.keys(ATTRIBUTE_TYPES))
      if (!(await isAccepted(client.client, attribute))) missing.push(attribute);
    return judgeAttributes(missing, client.namespace);
  });
}

function judgeAttributes(missing: readonly string[], namespace: string): Found {
  if (missing.length === 0) return { state: 'ok', detail: 'all registered' };
  const commands = missing.map((attribute) => `  ${registerCommand(namespace, attribute)}`);
  const todo = [
    'Run `countersign doctor --setup`, or ask somebody who may register search attributes to run:',
    ...commands,
  ].join('\n');
  return { state: 'bad', detail: `missing: ${missing.join(', ')}`, todo };
}

/**
 * Whether the server accepts a query with an attribute. Every caller may send a query, but not every caller may list
 * attributes.
 */
async function isAccepted(client: Client, attribute: string): Promise<boolean> {
  try {
    await client.workflow.count(`${attribute} IS NULL`);
    return true;
  } catch (error) {
    if (grpcStatusOf(error) === STATUS.invalidArgument) return false;
    throw toCountersignError(error, `asking for ${attribute}`);
  }
}

/** Whether anything is paused, and whether calls with an effect may start at all. */
function checkPauses(client: Countersign) {
  return asked('pauses', 'asking what is paused', async () => judgePauses(await client.pauses()));
}

function judgePauses(found: Pauses): Found {
  const { control, pauses } = found;
  if (control === 'absent')
    return { state: 'skipped', detail: 'no worker has started what holds pauses; nothing is paused' };
  const trouble = controlTrouble(found);
  if (trouble !== undefined)
    return { state: 'bad', detail: CONTROL_STATES[trouble], todo: CONTROL_HINTS[trouble] };
  if (pauses.length === 0) return { state: 'ok', detail: 'nothing is paused' };
  const todo = 'End one with `countersign resume`, with the same --agent and --tool, or all with --all.';
  return { state: 'warning', detail: pauses.map(pauseText).join('; '), todo };
}

/** Whether a worker takes work from a queue, and whether all of the queue's workers have the same agents and tools. */
export function checkQueue(client: Countersign, queue: PolledQueue): Promise<Finding> {
  return asked(`queue ${queue.name}`, 'asking who works on it', async () => {
    const workers = (await askWorkers(client, queue)).map(({ identity }) => identity);
    if (workers.length === 0) return { state: 'bad', detail: 'no worker takes work from it', todo: START };
    const detail = `workers: ${workers.join(', ')}`;
    if (new Set(workers.map(toolSetIn)).size === 1) return { state: 'ok', detail };
    const todo =
      'That is fine during a deploy: what one lacks is left to the others. Agents that have nothing to do with each other need queues of their own.';
    return { state: 'warning', detail: `they have different agents or tools; ${detail}`, todo };
  });
}

/** Which approvers file the workers of a queue started with. */
function checkApprovers(client: Countersign, queue: string) {
  return asked('approvers file', 'asking which approvers file there is', async () => {
    const workers = await askWorkers(client, { name: queue, half: 'turns' });
    const [first, ...others] = approversOf(workers);
    if (first === undefined) return { state: 'skipped', detail: 'not known: no worker said yet what it has' };
    const detail = `of the workers of ${queue}: ${[first, ...others].join(', ')}`;
    const todo =
      'Where it is none, anybody may decide: `countersign approvers init` writes a file that the config then names.';
    return {
      state: others.length === 0 ? 'ok' : 'warning',
      detail,
      todo: detail.endsWith('none') ? todo : undefined,
    };
  });
}

const START = 'Start one with `countersign worker`, or both server and worker with `countersign dev`.';

/** The most missing agents that are named. */
const MOST_LACKING = 3;

/** Checks whether the workers of a queue together have the agents of all open turns on the queue. */
export function checkAgents(client: Countersign, queue: string): Promise<Finding> {
  return asked(`agents of ${queue}`, 'asking which agents there are', async () => {
    const workers = await askWorkers(client, { name: queue, half: 'turns' });
    if (workers.length === 0) return { state: 'skipped', detail: 'needs a worker' };
    const agents = workers.map((worker) => worker.agents);
    if (agents.includes(undefined)) {
      const detail =
        'not known: a worker that just started, or a server that does not list what workers have';
      return { state: 'skipped', detail };
    }
    const there = agents.flatMap((some) => some ?? []);
    return judgeAgents(await lackingOf(client, queue, there));
  });
}

function judgeAgents(lacking: readonly Lacking[]): Found {
  if (lacking.length === 0) return { state: 'ok', detail: 'those of all open turns are here' };
  const detail = lacking.map(
    ({ agent, turn }) => `no worker with agent "${agent}" here, which turn ${turn} needs`,
  );
  const todo =
    'Start a worker that has it. Without one, the turn fails when it asks its model for longer than `agentWait`, and its approved calls expire after their `startWithin`.';
  return { state: 'warning', detail: detail.join('; '), todo };
}

/** An agent that no worker has, and a turn that needs it. */
interface Lacking {
  agent: string;
  turn: string;
}

/** Finds the missing agents, with one query for each of them and one more. */
async function lackingOf(
  { client, namespace }: Countersign,
  queue: string,
  there: readonly string[],
): Promise<Lacking[]> {
  const lacking: Lacking[] = [];
  const { agent } = SEARCH_ATTRIBUTES;
  const own = `ExecutionStatus = 'Running' AND WorkflowType = '${WORKFLOWS.turn}' AND TaskQueue = ${quoted(queue)}`;
  while (lacking.length < MOST_LACKING) {
    const known = [...there, ...lacking.map((one) => one.agent)].map(quoted).join(', ');
    const query = `${own} AND ${agent} IS NOT NULL${known === '' ? '' : ` AND ${agent} NOT IN (${known})`}`;
    const found = await client.withDeadline(Date.now() + ASK_MS, () => firstOf(client, namespace, query));
    if (found === undefined) break;
    lacking.push(found);
  }
  return lacking;
}

/** Reads the raw response: a memo that cannot be decoded here must not hide a turn. */
async function firstOf(
  { connection }: Client,
  namespace: string,
  query: string,
): Promise<Lacking | undefined> {
  const { workflowService }: ConnectionLike = connection;
  const { executions } = await workflowService.listWorkflowExecutions({ namespace, query, pageSize: 1 });
  const { execution, searchAttributes } = executions?.[0] ?? {};
  const data = searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent]?.data;
  const agent: unknown = data == null ? undefined : JSON.parse(Buffer.from(data).toString());
  return typeof agent === 'string' ? { agent, turn: execution?.workflowId ?? '?' } : undefined;
}

/** The open workflows that are looked at. They are of few types, on few queues. */
const MOST_OTHERS = 200;

/** Whether workers take work from the queues of workflows that are not turns and gate calls. */
function checkOtherWorkflows(client: Countersign): Promise<Finding> {
  const name = 'other workflows that gate calls';
  return asked(name, 'asking which other workflows gate calls', async () => {
    const types = await otherTypes(client);
    if (types.size === 0) return { state: 'ok', detail: 'none is open' };
    const looked = await Promise.all(
      [...types].map(async ([queue, names]) => {
        const workers = await askWorkers(client, { name: queue, half: 'turns' });
        return { isIdle: workers.length === 0, text: `${[...names].join(', ')} on ${queue}` };
      }),
    );
    const idle = looked.filter(({ isIdle }) => isIdle);
    if (idle.length === 0) return { state: 'ok', detail: looked.map(({ text }) => text).join('; ') };
    const detail = `no worker takes work from the queue of ${idle.map(({ text }) => text).join('; ')}`;
    const todo = 'Start its worker: until then a decision only goes on record.';
    return { state: 'warning', detail, todo };
  });
}

/** The types of these workflows by their queue. Reads the raw response, as `failingTurns` does. */
async function otherTypes({ client, namespace }: Countersign): Promise<Map<string, Set<string>>> {
  const query = `ExecutionStatus = 'Running' AND ${OURS} AND WorkflowType != '${WORKFLOWS.turn}'`;
  const { executions } = await client.withDeadline(Date.now() + ASK_MS, () =>
    client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: MOST_OTHERS }),
  );
  const found = new Map<string, Set<string>>();
  for (const { type, taskQueue } of executions ?? [])
    found.set(taskQueue ?? '', (found.get(taskQueue ?? '') ?? new Set()).add(type?.name ?? '?'));
  return found;
}

function askWorkers({ client, namespace }: Countersign, queue: PolledQueue): Promise<LiveWorker[]> {
  const { connection } = client;
  return connection.withDeadline(Date.now() + ASK_MS, () => workersOf(connection, namespace, queue));
}

/** The most turns that are named. */
const MOST_TURNS = 3;

/** The server's own attribute of workflows whose workflow task failed several times in a row. */
const PROBLEMS = 'TemporalReportedProblems';
const QUERY = `ExecutionStatus = 'Running' AND ${OURS} AND ${PROBLEMS} IS NOT NULL`;

/** Whether the server reports turns that do not progress because their workflow task fails again and again. */
export function checkTasks(client: Countersign): Promise<Finding> {
  return asked('workflow tasks', 'asking which workflow tasks fail', async () => {
    try {
      return judgeTasks(await failingTurns(client));
    } catch (error) {
      if (grpcStatusOf(error) !== STATUS.invalidArgument) throw error;
      const detail = `not known: this server does not have the search attribute ${PROBLEMS}`;
      return { state: 'skipped', detail };
    }
  });
}

/** Reads the raw response: a memo that cannot be decoded here must not hide a turn. */
async function failingTurns({ client, namespace }: Countersign): Promise<string[]> {
  const { executions } = await client.withDeadline(Date.now() + ASK_MS, () =>
    client.workflowService.listWorkflowExecutions({ namespace, query: QUERY, pageSize: MOST_TURNS + 1 }),
  );
  return (executions ?? []).map(({ execution }) => execution?.workflowId ?? '?');
}

function judgeTasks(turns: readonly string[]): Found {
  if (turns.length === 0)
    return { state: 'ok', detail: 'the server reports no turn whose workflow task keeps failing' };
  const more = turns.length > MOST_TURNS ? ', and more' : '';
  const detail = `fail again and again in ${turns.slice(0, MOST_TURNS).join(', ')}${more}`;
  const todo = `Such a turn waits until the cause is gone. \`countersign show <turn>\` says why it fails.`;
  return { state: 'warning', detail, todo };
}

/** Checks which build of a deployment is the current one, and which turns and sessions keep the other builds in use. */
export function checkBuilds(client: Pick<Countersign, 'builds'>, deployment: string): Promise<Finding> {
  return checked(`builds of ${deployment}`, async () => {
    const builds = await client.builds(deployment);
    if (builds === undefined) return { state: 'ok', detail: 'none: workers run without a build id' };
    return judgeBuilds(builds);
  });
}

function judgeBuilds({ deployment, current, builds }: Builds): Found {
  const detail = [
    ...(current === null ? ['none is current: turns begin on workers without a build id'] : []),
    ...builds
      .filter(({ state, turns, sessions }) => state !== 'drained' || turns + sessions > 0)
      .map(buildText),
  ].join('; ');
  const held = builds.find((build) => build.state === 'draining' && build.turns + build.sessions > 0);
  if (held === undefined) return { state: 'ok', detail };
  const of = deployment === DEPLOYMENT ? '' : ` --deployment ${shellWord(deployment)}`;
  const todo = `\`countersign deploy --drain ${shellWord(held.build)}${of}\` moves what only waits. Keep a worker of that build until nothing is open on it.`;
  // No drain moves these turns.
  const stays =
    held.resets &&
    ` A reset keeps ${held.resets.join(', ')} there: decide what waits in them, or fork and cancel them.`;
  return { state: 'warning', detail, todo: todo + (stays ?? '') };
}

function buildText({ build, state, turns, waiting, inDoubt, sessions }: Build) {
  const why = [
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(inDoubt > 0 ? [`${inDoubt} in doubt`] : []),
  ].join(', ');
  const open = `${counted(turns, 'turn')} open${why === '' ? '' : ` (${why})`}`;
  return `${build} is ${state}: ${open}${sessions > 0 ? `, ${counted(sessions, 'session')}` : ''}`;
}
