import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  type WorkflowExecutionDescription,
  WorkflowExecutionAlreadyStartedError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import type { GrantRefused } from '../../contract/control/grants';
import {
  type Pause,
  type Pauses,
  type PauseRefused,
  type PauseTaken,
  readPauses,
  type ResumeAsked,
  type PauseAsked,
} from '../../contract/control/pauses';
import { CountersignError } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { TIMES } from '../../contract/limits';
import { CONTROL, MEMO, UPDATES, WORKFLOWS } from '../../contract/names';
import {
  ask,
  isNotFound,
  isSilence,
  isTransient,
  retry,
  toCountersignError,
} from '../../history/server-errors';
import type { ClientContext } from '../context';

/**
 * Starts the workflow that holds the pauses, if it does not run. A workflow that was closed is started again only
 * with `closed too`, because its pauses and grants are lost.
 */
export async function startControl(client: Client, when: 'unless closed' | 'closed too'): Promise<void> {
  try {
    await client.workflow.start(WORKFLOWS.control, {
      workflowId: CONTROL.workflowId,
      taskQueue: CONTROL.taskQueue,
      workflowIdReusePolicy: when === 'closed too' ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      // Its tasks are short. If a worker took a task and did not answer, the task soon goes to another worker.
      workflowTaskTimeout: '3s',
      args: [],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** The pauses that are in effect now. */
export async function readControl(context: ClientContext): Promise<Pauses> {
  const found = await describeControl(context);
  if (found === undefined) return { control: 'absent', pauses: [] };
  if (found.type !== WORKFLOWS.control) return { control: 'unreadable', pauses: [] };
  if (found.status.name !== 'RUNNING') return { control: 'closed', pauses: [] };
  const pauses = readPauses(found.memo?.[MEMO.pauses]);
  return pauses === undefined ? { control: 'unreadable', pauses: [] } : { control: 'open', pauses };
}

/**
 * Describes the workflow that holds pauses, grants and absences. Undefined if nobody has started it. Needs no
 * worker.
 */
export function describeControl(
  { client, ...context }: ClientContext,
  doing = 'asking what is paused',
): Promise<WorkflowExecutionDescription | undefined> {
  return ask(context, doing, async () => {
    try {
      return await client.workflow.getHandle(CONTROL.workflowId).describe();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  });
}

/**
 * Pauses calls. Resolves once no worker starts such a call any more: the memo shows the pause, and what workers read
 * before no longer counts.
 */
export async function pause(context: ClientContext, asked: PauseAsked): Promise<PauseTaken> {
  await ask(context, 'starting the workflow that holds pauses', () =>
    startControl(context.client, 'closed too'),
  );
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

function update<R>(context: ClientContext, name: string, asked: PauseAsked | ResumeAsked): Promise<R> {
  const isResume = name === UPDATES.resume;
  return tellControl<R, typeof asked, PauseRefused['code']>(
    context,
    { name, asked },
    {
      hints: HINTS,
      absent: isResume ? { code: 'pause_not_found', message: 'nothing is paused' } : undefined,
      doing: isResume ? 'letting calls go on' : 'pausing',
    },
  );
}

const HINTS: Readonly<Record<PauseRefused['code'], string>> = {
  malformed: 'see countersign pause --help',
  pauses_full: 'end those that are not needed with countersign resume, or pause a whole agent',
  pause_not_found: 'countersign pause shows what is paused',
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
  absent?: Refusal<C> | undefined;
  /** The operation that failed, named in every other error. */
  doing: string;
}

/** Sends an update to the workflow that holds pauses and grants. @throws CountersignError with the given words. */
export async function tellControl<R, A, C extends RefusalCode>(
  { client }: ClientContext,
  { name, asked }: { name: string; asked: A },
  words: ControlWords<C>,
): Promise<R> {
  const handle = client.workflow.getHandle(CONTROL.workflowId);
  // All attempts are one update: an attempt whose answer was lost may have taken effect, and must not do so again.
  const how = { args: [asked] satisfies [A], updateId: randomUUID() };
  const send = (): Promise<R> =>
    client.withDeadline(Date.now() + ANSWER_MS, () => handle.executeUpdate<R, [A]>(name, how));
  try {
    // The workflow continues as new now and then, and is busy for a moment.
    return await retry(
      { passes: (error) => isTransient(error) && !isSilence(error), forMs: ANSWER_MS },
      send,
    );
  } catch (error) {
    throw errorOf(error, words);
  }
}

function errorOf<C extends RefusalCode>(error: unknown, words: ControlWords<C>): CountersignError {
  if (error instanceof WorkflowUpdateFailedError) {
    const [refused] = error.cause instanceof ApplicationFailure ? (error.cause.details ?? []) : [];
    if (isRefused(refused, words.hints)) return refusal(refused, words);
  }
  if (isSilence(error)) return unavailable('no worker answered, so nothing is in effect');
  if (isNotFound(error))
    return words.absent === undefined
      ? unavailable(`${CONTROL.workflowId} does not run; countersign setup starts it`)
      : refusal(words.absent, words);
  return toCountersignError(error, words.doing);
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
  { hints }: ControlWords<C>,
): CountersignError {
  return new CountersignError(errorCodeOf(code), message, { hint: hints[code] });
}

function errorCodeOf(code: RefusalCode) {
  if (code === 'malformed') return 'usage';
  return code === 'grant_void' ? 'grant_refused' : code;
}

/** The error if the workflow that holds pauses and grants does not answer. */
export function unavailable(message: string): CountersignError {
  return new CountersignError('control_unavailable', message, {
    hint: 'Start a worker (countersign worker), and do it again.',
  });
}
