import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { GrantRefused } from '../grants/grant';
import {
  AFTER_CLOSING,
  CONTROL_HINTS,
  CONTROL_STATES,
  type ControlInput,
  type Pause,
  type Pauses,
  type PauseRefused,
  type PauseTaken,
  readPauses,
  type ResumeAsked,
  type PauseAsked,
} from './pause';
import { CountersignError } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { SECOND, TIMES } from '../../contract/limits';
import { CONTROL, MEMO, UPDATES, WORKFLOWS } from '../../contract/names';
import {
  ask,
  detailsOf,
  isNotFound,
  isSilence,
  isTaskFailing,
  isTransient,
  retry,
  toCountersignError,
  unlessNotFound,
} from '../../history/server-errors';
import type { ClientContext } from '../../client/context';

/**
 * Starts the workflow that holds the pauses, if it does not run. If it was closed, nobody knows what was paused, so it
 * starts with everything paused.
 *
 * @throws CountersignError `still_waiting` if Temporal's own pause holds that workflow.
 */
export async function startControl(client: Client): Promise<void> {
  const found = await unlessNotFound(client.workflow.getHandle(CONTROL.workflowId).describe());
  const status = found?.status.name;
  if (status === 'PAUSED') throw unavailable(CONTROL_STATES.suspended, CONTROL_HINTS.suspended);
  if (status === 'RUNNING') return;
  const isLost = status !== undefined || (await hasBegun(client));
  const made = { id: randomUUID(), at: new Date().toISOString() };
  const pauses: Pause[] = isLost ? [{ ...AFTER_CLOSING, ...made }] : [];
  try {
    await client.workflow.start(WORKFLOWS.control, {
      workflowId: CONTROL.workflowId,
      workflowIdConflictPolicy: 'FAIL',
      ...ON_CONTROL_QUEUE,
      args: [{ pauses } satisfies ControlInput],
      memo: isLost ? { [MEMO.pauses]: pauses } : undefined,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/**
 * How the workflows of pauses and grants are started. Their tasks are short. If a worker took a task and did not
 * answer, the task soon goes to another worker.
 */
export const ON_CONTROL_QUEUE = { taskQueue: CONTROL.taskQueue, workflowTaskTimeout: '3s' } as const;

/** The most turns that are looked at to find out whether a worker ever ran. */
const MOST_LOOKED = 20;
/** The events of a turn whose first task a worker has done. */
const BEGUN_EVENTS = 4;

/**
 * Whether a worker ever worked on a turn or a session. Then what holds the pauses was there, and was deleted after it
 * was closed.
 */
async function hasBegun({ workflow }: Client) {
  const query = `WorkflowType IN ('${WORKFLOWS.turn}', '${WORKFLOWS.session}')`;
  let looked = 0;
  for await (const { workflowId } of workflow.list({ query, pageSize: MOST_LOOKED })) {
    const found = await unlessNotFound(workflow.getHandle(workflowId).describe());
    if ((found?.historyLength ?? 0) >= BEGUN_EVENTS) return true;
    looked += 1;
    if (looked === MOST_LOOKED) break;
  }
  return false;
}

/** The pauses that are in effect now. */
export async function readControl(context: ClientContext): Promise<Pauses> {
  const found = await describeControl(context);
  if (found === undefined) return { control: 'absent', pauses: [] };
  if (found.type !== WORKFLOWS.control) return { control: 'unreadable', pauses: [] };
  if (found.status.name === 'PAUSED') return { control: 'suspended', pauses: [] };
  if (found.status.name !== 'RUNNING') return { control: 'closed', pauses: [] };
  const pauses = readPauses(found.memo?.[MEMO.pauses]);
  return pauses === undefined ? { control: 'unreadable', pauses: [] } : { control: 'open', pauses };
}

/** Describes the workflow that holds the pauses. Undefined if nobody has started it. Needs no worker. */
function describeControl({ client, ...context }: ClientContext) {
  return ask(context, 'asking what is paused', () =>
    unlessNotFound(client.workflow.getHandle(CONTROL.workflowId).describe()),
  );
}

/**
 * Pauses calls. Resolves once no worker starts such a call any more: the memo shows the pause, and what workers read
 * before no longer counts.
 */
export async function pause(context: ClientContext, asked: PauseAsked): Promise<PauseTaken> {
  const taken = await update<PauseTaken>(context, UPDATES.pause, asked);
  const until = performance.now() + ANSWER_MS;
  for (;;) {
    const { pauses } = await readControl(context);
    if (pauses.some(({ id }) => id === taken.pause.id)) break;
    if (performance.now() > until)
      throw unavailable('the pause was taken, but is not there; somebody ended it');
  }
  // Even if it holds already: it may have come a moment ago.
  await delay(TIMES.pausesKnown);
  return taken;
}

/** Ends pauses. Held calls go on within a minute. */
export function resume(context: ClientContext, asked: ResumeAsked): Promise<Pause[]> {
  return update<Pause[]>(context, UPDATES.resume, asked);
}

const ANSWER_MS = TIMES.updateAnswer;

async function update<R>(context: ClientContext, name: string, asked: PauseAsked | ResumeAsked): Promise<R> {
  await ask(context, 'starting the workflow that holds pauses', () => startControl(context.client));
  const update = { workflowId: CONTROL.workflowId, name, asked };
  const doing = name === UPDATES.pause ? 'pausing' : 'resuming';
  return tellControl<R, PauseAsked | ResumeAsked, PauseRefused['code']>(context, update, {
    hints: HINTS,
    doing,
  });
}

const HINTS: Readonly<Record<PauseRefused['code'], string>> = {
  malformed: 'see countersign pause --help',
  full: 'end those that are not needed with countersign resume, or pause a whole agent',
  not_found: 'countersign pause shows what is paused',
};

type RefusalCode = PauseRefused['code'] | GrantRefused['code'];

/** Why the workflow refused an update. */
interface Refusal<C extends RefusalCode> {
  code: C;
  message: string;
}

/** The errors for an update that does not take effect. */
interface ControlWords<C extends RefusalCode> {
  /** What to do, by the code with which the workflow may refuse the update. */
  hints: Readonly<Record<C, string>>;
  /** The refusal in the place of a workflow that does not run. Absent: the error says that it does not run. */
  absent?: Refusal<C>;
  /** The operation that failed, named in every other error. */
  doing: string;
}

/** An update of a workflow that holds pauses or a grant, and its payload. */
interface Updating<A> {
  workflowId: string;
  name: string;
  asked: A;
}

/**
 * Sends an update to a workflow that holds pauses or a grant. While its task fails on one worker, another may do it, so
 * it tries again for ten seconds.
 *
 * @throws CountersignError with the given words.
 */
export async function tellControl<R, A, C extends RefusalCode>(
  { client }: ClientContext,
  { workflowId, name, asked }: Updating<A>,
  words: ControlWords<C>,
): Promise<R> {
  const handle = client.workflow.getHandle(workflowId);
  // All attempts are one update: an attempt whose answer was lost may have taken effect, and must not do so again.
  const how = { args: [asked] satisfies [A], updateId: randomUUID() };
  const send = () =>
    client.withDeadline(Date.now() + ANSWER_MS, () => handle.executeUpdate<R, [A]>(name, how));
  try {
    // The workflow continues as new after each change, and is busy for a moment.
    const passes = (error: unknown) => isTaskFailing(error) || (isTransient(error) && !isSilence(error));
    return await retry({ passes, forMs: ANSWER_MS }, send);
  } catch (error) {
    throw errorOf(error, words);
  }
}

function errorOf<C extends RefusalCode>(error: unknown, words: ControlWords<C>) {
  const found = refusalIn(error, words.hints);
  if (found !== undefined) return found;
  if (isSilence(error))
    return unavailable(
      `no worker answered for ${ANSWER_MS / SECOND} s; it may still take effect`,
      'countersign pause and countersign grants show what is in effect. Start a worker (countersign worker) where none runs.',
    );
  if (isTaskFailing(error))
    return unavailable(
      `every worker that took it failed at its task, for ${ANSWER_MS / SECOND} s: ${detailsOf(error)}`,
      'Temporal shows why, at the last failed workflow task. A worker of the version before it may still answer.',
    );
  if (isNotFound(error))
    return words.absent === undefined
      ? unavailable(`${CONTROL.workflowId} does not run; countersign doctor --setup starts it`)
      : refusal(words.absent, words);
  return toCountersignError(error, words.doing);
}

/** The refusal by which a workflow refused an update, or ended. Undefined: the error is another one. */
export function refusalIn<C extends RefusalCode>(
  error: unknown,
  hints: Readonly<Record<C, string>>,
): CountersignError | undefined {
  const isOurs = error instanceof WorkflowUpdateFailedError || error instanceof WorkflowFailedError;
  const [refused] = isOurs && error.cause instanceof ApplicationFailure ? (error.cause.details ?? []) : [];
  return isRefused(refused, hints) ? refusal(refused, { hints }) : undefined;
}

function isRefused<C extends RefusalCode>(
  value: unknown,
  hints: Readonly<Record<C, string>>,
): value is Refusal<C> {
  if (!isObject(value) || typeof value['message'] !== 'string') return false;
  return typeof value['code'] === 'string' && Object.hasOwn(hints, value['code']);
}

function refusal<C extends RefusalCode>(
  { code, message }: Refusal<C>,
  { hints }: Pick<ControlWords<C>, 'hints'>,
) {
  return new CountersignError(errorCodeOf(code), message, hints[code]);
}

function errorCodeOf(code: RefusalCode) {
  if (code === 'malformed') return 'usage';
  return code === 'grant_void' ? 'refused' : code;
}

/** The error if a workflow that holds pauses or a grant does not answer. */
export function unavailable(
  message: string,
  hint = 'Start a worker (countersign worker), and do it again.',
): CountersignError {
  return new CountersignError('still_waiting', message, hint);
}
