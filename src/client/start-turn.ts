import { type Priority, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { randomInt, randomUUID } from 'node:crypto';
import { CountersignError } from '../contract/errors';
import { namesOfFields } from '../contract/json';
import { TASK_QUEUE, WORKFLOWS } from '../contract/names';
import { utf8Bytes, withFiles } from '../contract/text/bytes';
import { type Budget, budgetIssues } from '../contract/spending/budget';
import { describeIssues } from '../contract/read-json';
import { LIMITS } from '../contract/limits';
import { tooLarge } from '../contract/session';
import { areFiles, type FileRef } from '../contract/session/files';
import type { FileStore } from '../store/stored-file';
import { type GivenCall, originIssues, startOf, type TurnInput } from '../contract/turn';
import type { TurnOrigin } from '../contract/call';
import { isAnswerLost, isNotReady, retry, toCountersignError } from '../history/server-errors';
import { activeTrace } from '../system/traces';
import type { ClientContext } from './context';
import type { StartRequest } from './requests';
import type { ForkTurnRequest, StartedFork, StartedTurn } from './types';
import { planFork } from '../history/fork';
import { forkRecordOf } from '../history/fork-record';
import { parseExport } from '../history/exported';
import { decodeRuns, readHistories } from '../history/read';

const AGENT_CHARS = 200;
const NOT_READY_WAIT_MS = 500;
const START_MS = 10_000;

/**
 * Starts a turn. Waits while the namespace does not know our search attributes yet, because a worker registers them.
 */
export async function startTurn(context: ClientContext, request: StartRequest): Promise<StartedTurn> {
  const turn = request.id === undefined ? drawTurnId() : checkTurnId(request.id);
  const { prompt, taskQueue = TASK_QUEUE } = request;
  const input = await inTrace(inputOf(request));
  const priority = priorityGiven(request);
  const files = await attach(context, request.files);
  return startWorkflow(context, {
    turn,
    taskQueue,
    prompt,
    input: { ...input, ...withFiles(files) },
    isDrawn: request.id === undefined,
    priority,
  });
}

const FAIRNESS_KEY_BYTES = 64;

/**
 * The priority of a turn in a task queue with a backlog.
 *
 * @throws CountersignError `usage` for values that the server would refuse or would read as another number.
 */
export function priorityGiven({ priority }: Pick<StartRequest, 'priority'>): Priority | undefined {
  if (priority === undefined) return undefined;
  const { priorityKey, fairnessKey, fairnessWeight } = priority;
  const hint = 'give a key from 1 (first), a fairness key of at most 64 bytes, a weight from 0.001 to 1000';
  const refuse = (what: string): never => {
    throw new CountersignError('usage', `${what} cannot be used`, hint);
  };
  if (priorityKey !== undefined && !(Number.isInteger(priorityKey) && priorityKey >= 1 && priorityKey <= 100))
    refuse(`the priority key ${priorityKey}`);
  if (fairnessKey !== undefined && utf8Bytes(fairnessKey) > FAIRNESS_KEY_BYTES)
    refuse(`a fairness key of ${utf8Bytes(fairnessKey)} bytes`);
  if (fairnessWeight !== undefined && !(fairnessWeight >= 0.001 && fairnessWeight <= 1000))
    refuse(`the fairness weight ${fairnessWeight}`);
  return { priorityKey, fairnessKey, fairnessWeight };
}

/**
 * Puts the files of a message into the store, and returns the references that replace them in the message.
 *
 * @throws CountersignError `usage`, `file_failed`, `config_invalid`.
 */
export async function attach(
  { files: storeOf }: ClientContext,
  files: StartRequest['files'] = [],
): Promise<FileRef[]> {
  if (files.length > LIMITS.filesPerMessage)
    throw new CountersignError('usage', `a message has at most ${LIMITS.filesPerMessage} files`);
  const refs: FileRef[] = [];
  for (const file of files) {
    if ('bytes' in file) refs.push(await storeNeeded(storeOf()).put(file));
    else if (areFiles([file])) refs.push(file);
    else throw new CountersignError('usage', 'a file has neither bytes nor what stands for them');
  }
  return refs;
}

function storeNeeded(store: FileStore | undefined): FileStore {
  if (store !== undefined) return store;
  throw new CountersignError('usage', 'there is no store for the files of a message', {
    hint: 'Set COUNTERSIGN_FILES to a folder or s3://bucket/prefix that the workers use too.',
  });
}

/** Adds the current span to the input, so that the spans of the turn belong to it. */
async function inTrace(input: TurnInput): Promise<TurnInput> {
  const trace = await activeTrace();
  return trace === undefined ? input : { ...input, origin: { ...input.origin, trace } };
}

/**
 * The input of a turn that somebody asks for. @throws CountersignError `usage` for a request with which no turn can
 * start.
 */
export function inputOf(request: Omit<StartRequest, 'id'>): TurnInput {
  checkRequest(request);
  const { agent, prompt } = request;
  return { agent, prompt, origin: originGiven(request), budget: budgetGiven(request) };
}

/** A budget that a turn or a session is started with. @throws CountersignError `usage`. */
export function budgetGiven({ budget }: Pick<StartRequest, 'budget'>): Budget | undefined {
  const issues = budget === undefined ? [] : budgetIssues(budget);
  if (issues.length === 0) return budget;
  throw new CountersignError(
    'usage',
    `the budget cannot be used: ${describeIssues(issues)}`,
    'give amounts of 0 or more for tokens, money, steps and time (milliseconds)',
  );
}

/** The origin of a turn that is to be started. @throws CountersignError `usage`. */
export function originGiven({
  requester,
  metadata,
}: Pick<StartRequest, 'requester' | 'metadata'>): TurnOrigin | undefined {
  const origin = { requester, metadata };
  if (namesOfFields(origin).length === 0) return undefined;
  const issues = originIssues(origin);
  if (issues.length === 0) return origin;
  throw new CountersignError(
    'usage',
    `what the turn is started with cannot be used: ${describeIssues(issues)}`,
    'give at most 16 facts: names of a-z, 0-9, "_", "." and "-", values of at most 128 characters on one line',
  );
}

/** A turn that asks no model: it is started with its only call. */
export interface CallRequest {
  id: string;
  agent: string;
  prompt: string;
  taskQueue: string;
  requester: string;
  call: GivenCall;
  /** Whether this joins an open turn of this id, and may use the id again when that has ended. */
  joins: boolean;
  /** As in `ConnectOptions`. */
  readyMs: number;
}

/** Starts such a turn. */
export async function startCall(
  context: ClientContext,
  { id: turn, agent, prompt, taskQueue, requester, call, joins, readyMs }: CallRequest,
): Promise<StartedTurn> {
  const input = await inTrace({ agent, prompt, origin: { requester }, call });
  return startWorkflow({ ...context, readyMs }, { turn, taskQueue, prompt, input, joins });
}

/** A turn that is ready to start. */
interface ReadyTurn {
  turn: string;
  taskQueue: string;
  /** The prompt that lists show. */
  prompt: string;
  input: TurnInput;
  priority?: Priority;
  /** Whether nobody else can have used the id. */
  isDrawn?: boolean;
  /** See `CallRequest`. @default false */
  joins?: boolean;
}

/** Starts a turn whose input is complete. @throws CountersignError as `startTurn`. */
async function startWorkflow(context: ClientContext, ready: ReadyTurn): Promise<StartedTurn> {
  const { turn } = ready;
  const waits = { passes: isNotReady, forMs: context.readyMs, everyMs: NOT_READY_WAIT_MS };
  try {
    return { turn, runId: await retry(waits, () => startOnce(context, ready)) };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) throw turnExists(turn);
    if (!isAnswerLost(error)) throw toCountersignError(error, `starting turn ${turn}`);
    // A turn that does not keep its id may have ended already, and would run again.
    if (ready.joins === true) throw maybeStarted(ready, error);
    return askOnceMore(context, ready);
  }
}

/**
 * Starts a turn again whose first start may have arrived. The id is used for one turn only, so there are never two. A
 * turn with an id that we drew can only be the one of the first start.
 */
async function askOnceMore(context: ClientContext, ready: ReadyTurn): Promise<StartedTurn> {
  const { turn } = ready;
  try {
    return { turn, runId: await startOnce(context, ready) };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError && ready.isDrawn === true) {
      const { runId } = await context.client.workflow.getHandle(turn).describe();
      return { turn, runId };
    }
    throw maybeStarted(ready, error);
  }
}

function maybeStarted({ turn, joins }: ReadyTurn, cause: unknown) {
  const again = joins === true ? '' : '; a start with this id again makes no second turn';
  return new CountersignError(
    'server_failed',
    `the server did not say whether turn ${turn} started; it may run`,
    { hint: `countersign show ${turn} tells${again}`, data: { turn }, cause },
  );
}

function checkRequest({ agent, prompt }: Omit<StartRequest, 'id'>) {
  if (agent.trim() === '') throw new CountersignError('usage', 'a turn needs the name of an agent');
  if (agent.length > AGENT_CHARS)
    throw new CountersignError('usage', `no agent has a name of ${agent.length} characters`);
  if (prompt.trim() === '')
    throw new CountersignError('usage', 'a turn needs a prompt: what is the agent to do?');
  const issue = tooLarge('the prompt', prompt);
  if (issue === undefined) return;
  throw new CountersignError('usage', issue, 'put the text into a file that the agent can read');
}

async function startOnce(
  context: ClientContext,
  { turn, taskQueue, prompt, input, priority, joins }: ReadyTurn,
) {
  const start = () =>
    context.client.workflow.start(WORKFLOWS.turn, {
      args: [input],
      workflowId: turn,
      taskQueue,
      ...startOf(input, prompt),
      priority,
      // The id of any other turn names its record, so it is never used for a second turn.
      workflowIdReusePolicy: joins === true ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: joins === true ? 'USE_EXISTING' : 'FAIL',
    });
  const handle = await context.connection.withDeadline(Date.now() + START_MS, start);
  return handle.firstExecutionRunId;
}

function turnExists(turn: string) {
  const hint = 'take another id, or none; an id is never used twice';
  return new CountersignError('exists', `there is or was a turn ${turn}`, { hint, data: { turn } });
}

/** Forks a turn: plans the fork from the record, then starts it as a separate turn. */
export async function forkTurn(context: ClientContext, request: ForkTurnRequest): Promise<StartedFork> {
  const { id, taskQueue: queue } = request;
  const turn = id === undefined ? drawTurnId() : checkTurnId(id);
  const record = forkRecordOf(await decodeRuns(context.source, await historiesOf(context, request)));
  const taskQueue = queue ?? record.taskQueue;
  const input = await inTrace(
    planFork(record, request, { now: Date.now(), replyId: randomUUID(), taskQueue }),
  );
  const ready = { turn, taskQueue, prompt: record.prompt, input, isDrawn: id === undefined };
  const started = await startWorkflow(context, ready);
  return { ...started, of: record.turn, events: record.events };
}

async function historiesOf({ source }: ClientContext, { turn, history }: ForkTurnRequest) {
  if (turn !== undefined && history === undefined) return readHistories(source, turn);
  if (turn === undefined && history !== undefined) return parseExport(history);
  throw new CountersignError('usage', 'a fork is of a turn or of an exported history, one of them');
}

/** The form of a turn's id. It has no `/`, because `<turn>/<call>` names a call. */
const TURN_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

/** Draws an id for a turn. The id begins with the time, so that newer turns sort after older ones. */
export function drawTurnId(): string {
  const drawn = randomInt(36 ** 8).toString(36);
  return `turn-${Date.now().toString(36).padStart(9, '0')}${drawn.padStart(8, '0')}`;
}

/**
 * Temporal accepts any text as an id. On the command line, a `/` begins the name of a call, and a blank ends an
 * argument.
 */
const ANY_ID = /^[^\p{C}\s/]{1,1000}$/u;

/** Whether text can be the id, or the beginning of the id, of a turn or of another workflow that gates calls. */
export function mayBeId(text: string): boolean {
  return ANY_ID.test(text);
}

/** Checks that a text can be the id of a turn. @throws CountersignError `usage` for a text that cannot be an id. */
export function checkTurnId(id: string): string {
  if (TURN_ID.test(id)) return id;
  const hint = 'use letters, digits, ".", "_", ":" and "-", at most 200, with a letter or digit first';
  throw new CountersignError('usage', `${JSON.stringify(id)} cannot be the id of a turn`, hint);
}
