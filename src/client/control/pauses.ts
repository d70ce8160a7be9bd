import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  type WorkflowExecutionDescription,
  WorkflowExecutionAlreadyStartedError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
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
  isSilence,
  isTransient,
  retry,
  STATUS,
  statusOf,
  toCountersignError,
} from '../../history/server-errors';
import type { ClientContext } from '../context';

/**
 * Starts the workflow that holds the pauses, where none runs. One that was closed is started again only where somebody wants
 * that: what it held is forgotten.
 */
export async function startControl(client: Client, when: 'unless closed' | 'closed too'): Promise<void> {
  try {
    await client.workflow.start(WORKFLOWS.control, {
      workflowId: CONTROL.workflowId,
      taskQueue: CONTROL.taskQueue,
      workflowIdReusePolicy: when === 'closed too' ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      // Its tasks are short: one that a worker took and did not answer goes to another one soon.
      workflowTaskTimeout: '3s',
      args: [],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** What holds now. */
export async function readControl(context: ClientContext): Promise<Pauses> {
  const found = await describe(context);
  if (found === undefined) return { control: 'absent', pauses: [] };
  if (found.type !== WORKFLOWS.control) return { control: 'unreadable', pauses: [] };
  if (found.status.name !== 'RUNNING') return { control: 'closed', pauses: [] };
  const pauses = readPauses(found.memo?.[MEMO.pauses]);
  return pauses === undefined ? { control: 'unreadable', pauses: [] } : { control: 'open', pauses };
}

function describe({ client, ...context }: ClientContext): Promise<WorkflowExecutionDescription | undefined> {
  return ask(context, 'asking what is paused', async () => {
    try {
      return await client.workflow.getHandle(CONTROL.workflowId).describe();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  });
}

/** Pauses, and resolves once no worker starts anything of it: the memo shows it, and what workers knew before is too old. */
export async function pause(context: ClientContext, asked: PauseAsked): Promise<PauseTaken> {
  await ask(context, 'starting the workflow that holds pauses', () =>
    startControl(context.client, 'closed too'),
  );
  const taken = await update<PauseTaken>(context, UPDATES.pause, asked);
  const until = Date.now() + ANSWER_MS;
  for (;;) {
    const { pauses } = await readControl(context);
    if (pauses.some(({ id }) => id === taken.pause.id)) break;
    if (Date.now() > until) throw unavailable('the pause was taken, but is not there; somebody ended it');
  }
  if (taken.already !== true) await delay(TIMES.pausesKnown);
  return taken;
}

/** Ends pauses. Held calls go on within a minute. */
export function resume(context: ClientContext, asked: ResumeAsked): Promise<Pause[]> {
  return update<Pause[]>(context, UPDATES.resume, asked);
}

const ANSWER_MS = TIMES.updateAnswer;

async function update<R>(context: ClientContext, name: string, asked: PauseAsked | ResumeAsked): Promise<R> {
  try {
    return await tellControl<R, typeof asked>(context, name, asked);
  } catch (error) {
    throw errorOf(error, name);
  }
}

/** Sends an update to the workflow that holds pauses and grants; throws what the SDK throws. */
export function tellControl<R, A>({ client }: ClientContext, name: string, asked: A): Promise<R> {
  const handle = client.workflow.getHandle(CONTROL.workflowId);
  const send = (): Promise<R> =>
    client.withDeadline(Date.now() + ANSWER_MS, () => handle.executeUpdate<R, [A]>(name, { args: [asked] }));
  // It continues as new now and then, and is busy for a moment.
  return retry({ passes: (error) => isTransient(error) && !isSilence(error), forMs: ANSWER_MS }, send);
}

function errorOf(error: unknown, name: string): CountersignError {
  if (error instanceof WorkflowUpdateFailedError) {
    const refused = refusedIn(error.cause);
    if (refused !== undefined) return refusal(refused);
  }
  if (isSilence(error)) return unavailable('no worker answered, so nothing is in effect');
  if (error instanceof WorkflowNotFoundError || statusOf(error) === STATUS.notFound)
    return name === UPDATES.resume
      ? refusal({ code: 'pause_not_found', message: 'nothing is paused' })
      : unavailable(`${CONTROL.workflowId} does not run`);
  return toCountersignError(error, name === UPDATES.pause ? 'pausing' : 'letting calls go on');
}

const CODES: readonly unknown[] = [
  'malformed',
  'pauses_full',
  'pause_not_found',
] satisfies PauseRefused['code'][];

function refusedIn(cause: unknown): PauseRefused | undefined {
  const [refused] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return isRefused(refused) ? refused : undefined;
}

function isRefused(value: unknown): value is PauseRefused {
  return isObject(value) && CODES.includes(value['code']) && typeof value['message'] === 'string';
}

const HINTS: Readonly<Record<PauseRefused['code'], string>> = {
  malformed: 'see countersign pause --help',
  pauses_full: 'end those that are not needed with countersign resume, or pause a whole agent',
  pause_not_found: 'countersign pause shows what is paused',
};

function refusal({ code, message }: PauseRefused): CountersignError {
  return new CountersignError(code === 'malformed' ? 'usage' : code, message, { hint: HINTS[code] });
}

/** What is said where nobody who holds pauses and grants answers. */
export function unavailable(message: string): CountersignError {
  return new CountersignError('control_unavailable', message, {
    hint: 'Start a worker (countersign worker), and do it again.',
  });
}
