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
import { toolSetIn } from '../../contract/worker-tools';
import { registerCommand } from '../../engine/search-attributes';
import { ATTRIBUTE_TYPES } from '../../engine/server-args';
import { counted } from '../../history/labels';
import { STATUS, grpcStatusOf, toCountersignError } from '../../history/server-errors';
import { failed, type Finding } from './machine';

/** The most time for one request, in milliseconds. */
const ASK_MS = 10_000;

/**
 * Makes a request that the server authorises. Connecting alone proves nothing: a server accepts every connection.
 *
 * @throws CountersignError `server_failed` if the server refuses, `not_ready`, `no_server`.
 */
export async function requireAccess({ client }: Countersign): Promise<void> {
  try {
    await client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflow.count("ExecutionStatus = 'Running'"),
    );
  } catch (error) {
    throw toCountersignError(error, 'counting turns');
  }
}

/** Whether the namespace has the search attributes that the inbox needs. */
export async function checkAttributes(client: Countersign): Promise<Finding> {
  const name = 'search attributes';
  try {
    return judgeAttributes(name, await missingOf(client), client.namespace);
  } catch (error) {
    return failed(name, error);
  }
}

async function missingOf({ client }: Countersign): Promise<string[]> {
  const missing: string[] = [];
  for (const attribute of Object.keys(ATTRIBUTE_TYPES)) {
    if (!(await isAccepted(client, attribute))) missing.push(attribute);
  }
  return missing;
}

function judgeAttributes(name: string, missing: readonly string[], namespace: string): Finding {
  if (missing.length === 0) return { name, state: 'ok', detail: 'all registered' };
  const commands = missing.map((attribute) => `  ${registerCommand(namespace, attribute)}`);
  const todo = [
    'Run `countersign doctor --setup`, or ask somebody who may register search attributes to run:',
    ...commands,
  ].join('\n');
  return { name, state: 'bad', detail: `missing: ${missing.join(', ')}`, todo };
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
export async function checkPauses(client: Countersign): Promise<Finding> {
  const name = 'pauses';
  try {
    return judgePauses(name, await client.pauses());
  } catch (thrown) {
    return failed(name, toCountersignError(thrown, 'asking what is paused'));
  }
}

function judgePauses(name: string, found: Pauses): Finding {
  const { control, pauses } = found;
  if (control === 'absent')
    return { name, state: 'skipped', detail: 'no worker has started what holds pauses; nothing is paused' };
  const trouble = controlTrouble(found);
  if (trouble !== undefined)
    return { name, state: 'bad', detail: CONTROL_STATES[trouble], todo: CONTROL_HINTS[trouble] };
  if (pauses.length === 0) return { name, state: 'ok', detail: 'nothing is paused' };
  const todo = 'End one with `countersign resume`, with the same --agent and --tool, or all with --all.';
  return { name, state: 'warning', detail: pauses.map(pauseText).join('; '), todo };
}

/** Whether a worker takes work from a queue, and whether all of the queue's workers have the same agents and tools. */
export async function checkQueue(client: Countersign, queue: PolledQueue): Promise<Finding> {
  const name = `queue ${queue.name}`;
  try {
    const workers = (await askWorkers(client, queue)).map(({ identity }) => identity);
    if (workers.length === 0)
      return { name, state: 'bad', detail: 'no worker takes work from it', todo: START };
    const detail = `workers: ${workers.join(', ')}`;
    if (new Set(workers.map(toolSetIn)).size === 1) return { name, state: 'ok', detail };
    const todo =
      'That is fine during a deploy: what one lacks is left to the others. Agents that have nothing to do with each other need queues of their own.';
    return { name, state: 'warning', detail: `they have different agents or tools; ${detail}`, todo };
  } catch (thrown) {
    return failed(name, toCountersignError(thrown, 'asking who works on it'));
  }
}

/** Which approvers file the workers of a queue started with. */
export async function checkApprovers(client: Countersign, queue: string): Promise<Finding> {
  const name = 'approvers file';
  try {
    const workers = await askWorkers(client, { name: queue, half: 'turns' });
    const [first, ...others] = approversOf(workers);
    if (first === undefined)
      return { name, state: 'skipped', detail: 'not known: no worker said yet what it has' };
    const detail = `of the workers of ${queue}: ${[first, ...others].join(', ')}`;
    const todo =
      'Where it is none, anybody may decide: `countersign approvers init` writes a file that the config then names.';
    return {
      name,
      state: others.length === 0 ? 'ok' : 'warning',
      detail,
      todo: detail.endsWith('none') ? todo : undefined,
    };
  } catch (thrown) {
    return failed(name, toCountersignError(thrown, 'asking which approvers file there is'));
  }
}

const START = 'Start one with `countersign worker`, or both server and worker with `countersign dev`.';

/** The most missing agents that are named. */
const MOST_LACKING = 3;

/** Checks whether the workers of a queue together have the agents of all open turns on the queue. */
export async function checkAgents(client: Countersign, queue: string): Promise<Finding> {
  const name = `agents of ${queue}`;
  try {
    const workers = await askWorkers(client, { name: queue, half: 'turns' });
    if (workers.length === 0) return { name, state: 'skipped', detail: 'needs a worker' };
    const agents = workers.map((worker) => worker.agents);
    if (agents.includes(undefined)) {
      const detail =
        'not known: a worker that just started, or a server that does not list what workers have';
      return { name, state: 'skipped', detail };
    }
    const there = agents.flatMap((some) => some ?? []);
    return judgeAgents(name, await lackingOf(client, queue, there));
  } catch (thrown) {
    return failed(name, toCountersignError(thrown, 'asking which agents there are'));
  }
}

function judgeAgents(name: string, lacking: readonly Lacking[]): Finding {
  if (lacking.length === 0) return { name, state: 'ok', detail: 'those of all open turns are here' };
  const detail = lacking.map(
    ({ agent, turn }) => `no worker with agent "${agent}" here, which turn ${turn} needs`,
  );
  const todo =
    'Start a worker that has it. Without one, the turn fails when it asks its model for longer than `agentWait`, and its approved calls expire after their `startWithin`.';
  return { name, state: 'warning', detail: detail.join('; '), todo };
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
export async function checkOtherWorkflows(client: Countersign): Promise<Finding> {
  const name = 'other workflows that gate calls';
  try {
    const types = await otherTypes(client);
    if (types.size === 0) return { name, state: 'ok', detail: 'none is open' };
    const looked = await Promise.all(
      [...types].map(async ([queue, names]) => {
        const workers = await askWorkers(client, { name: queue, half: 'turns' });
        return { isIdle: workers.length === 0, text: `${[...names].join(', ')} on ${queue}` };
      }),
    );
    const idle = looked.filter(({ isIdle }) => isIdle);
    if (idle.length === 0) return { name, state: 'ok', detail: looked.map(({ text }) => text).join('; ') };
    const detail = `no worker takes work from the queue of ${idle.map(({ text }) => text).join('; ')}`;
    return {
      name,
      state: 'warning',
      detail,
      todo: 'Start its worker: until then a decision only goes on record.',
    };
  } catch (thrown) {
    return failed(name, toCountersignError(thrown, 'asking which other workflows gate calls'));
  }
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
export async function checkTasks(client: Countersign): Promise<Finding> {
  const name = 'workflow tasks';
  try {
    return judgeTasks(name, await failingTurns(client));
  } catch (thrown) {
    if (grpcStatusOf(thrown) === STATUS.invalidArgument) {
      const detail = `not known: this server does not have the search attribute ${PROBLEMS}`;
      return { name, state: 'skipped', detail };
    }
    return failed(name, toCountersignError(thrown, 'asking which workflow tasks fail'));
  }
}

/** Reads the raw response: a memo that cannot be decoded here must not hide a turn. */
async function failingTurns({ client, namespace }: Countersign): Promise<string[]> {
  const { executions } = await client.withDeadline(Date.now() + ASK_MS, () =>
    client.workflowService.listWorkflowExecutions({ namespace, query: QUERY, pageSize: MOST_TURNS + 1 }),
  );
  return (executions ?? []).map(({ execution }) => execution?.workflowId ?? '?');
}

function judgeTasks(name: string, turns: readonly string[]): Finding {
  if (turns.length === 0)
    return { name, state: 'ok', detail: 'the server reports no turn whose workflow task keeps failing' };
  const more = turns.length > MOST_TURNS ? ', and more' : '';
  const detail = `fail again and again in ${turns.slice(0, MOST_TURNS).join(', ')}${more}`;
  const todo = `Such a turn waits until the cause is gone. \`countersign show <turn>\` says why it fails.`;
  return { name, state: 'warning', detail, todo };
}

/** Checks which build of a deployment is the current one, and which turns and sessions keep the other builds in use. */
export async function checkBuilds(client: Pick<Countersign, 'builds'>, deployment: string): Promise<Finding> {
  const name = `builds of ${deployment}`;
  try {
    const builds = await client.builds(deployment);
    if (builds === undefined) return { name, state: 'ok', detail: 'none: workers run without a build id' };
    return judgeBuilds(name, builds);
  } catch (error) {
    return failed(name, error);
  }
}

function judgeBuilds(name: string, { deployment, current, builds }: Builds): Finding {
  const detail = [
    ...(current === null ? ['none is current: turns begin on workers without a build id'] : []),
    ...builds.filter(isShown).map(buildText),
  ].join('; ');
  const held = builds.find((build) => build.state === 'draining' && build.turns + build.sessions > 0);
  if (held === undefined) return { name, state: 'ok', detail };
  const of = deployment === DEPLOYMENT ? '' : ` --deployment ${shellWord(deployment)}`;
  const todo = `\`countersign deploy --drain ${shellWord(held.build)}${of}\` moves what only waits. Keep a worker of that build until nothing is open on it.`;
  const stays = held.resets === undefined ? '' : resetText(held.resets);
  return { name, state: 'warning', detail, todo: todo + stays };
}

/** The turns that no drain moves, and the way out. */
function resetText(turns: readonly string[]): string {
  return ` A reset keeps ${turns.join(', ')} there: decide what waits in them, or fork and cancel them.`;
}

/** Whether a build is shown. A drained build without turns and sessions is left out. */
function isShown({ state, turns, sessions }: Build): boolean {
  return state !== 'drained' || turns + sessions > 0;
}

function buildText({ build, state, turns, waiting, inDoubt, sessions }: Build): string {
  const why = [
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(inDoubt > 0 ? [`${inDoubt} in doubt`] : []),
  ].join(', ');
  const open = `${counted(turns, 'turn')} open${why === '' ? '' : ` (${why})`}`;
  return `${build} is ${state}: ${open}${sessions > 0 ? `, ${counted(sessions, 'session')}` : ''}`;
}
