import { randomUUID } from 'node:crypto';
import { WithStartWorkflowOperation, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { digestText } from '../../contract/digest';
import { CountersignError } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { MEMO, SIGNALS, TASK_QUEUE, UPDATES, WORKFLOWS } from '../../contract/names';
import {
  SESSION_REFUSALS,
  type SessionControl,
  type SessionInput,
  type SessionMemo,
  type SessionMessage,
  textIssue,
} from '../../contract/session';
import { MODES } from '../../contract/turn-states';
import { contentOf } from '../../contract/session/files';
import { withFiles } from '../../contract/text/bytes';
import {
  detailsOf,
  isAnswerLost,
  isNotReady,
  isSignalLimit,
  isSilence,
  isTaskFailing,
  isUpdateTotal,
  retry,
  STATUS,
  grpcStatusOf,
  toCountersignError,
  isNotFound,
} from '../../history/server-errors';
import type { ClientContext } from '../context';
import { followSession, followSessionWithText } from './follow';
import { sessionIs } from '../../history/session/guards';
import { isSession, sessionNotFound, stateOf, viewSession } from './reader';
import { attach, budgetGiven, checkTurnId, originGiven, priorityGiven } from '../start-turn';
import type { FollowOptions } from '../requests';
import { maybeTaken, onceSent, updateIfServed } from '../update-or-signal';
import type { SendRequest, SentMessage, Session, SessionOptions } from './types';

/** A session by its id. No request is sent to the server. */
export function openSession(context: ClientContext, id: string, options: SessionOptions = {}): Session {
  const session = checkTurnId(id);
  const control = (content: SessionControl) => sendControl(context, session, content);
  const history = () => viewSession(context, session);
  return {
    id: session,
    send: (message) =>
      sendMessage(context, { session, options }, typeof message === 'string' ? { text: message } : message),
    follow: (how = {}) => followSession(context, session, how),
    followWithText: (how: FollowOptions = {}) => followSessionWithText(context, session, how),
    history,
    state: () => stateOf(context, session),
    pause: (by = {}) => control({ action: 'pause', ...by }),
    resume: (by = {}) => control({ action: 'resume', ...by }),
    cancelTurn: (by = {}) => control({ action: 'cancel_turn', ...by }),
    compact: (by = {}) => control({ action: 'compact', ...by }),
    close: ({ cancel, ...by } = {}) =>
      control({ action: 'close', ...by, cancel: cancel === true ? (true as const) : undefined }),
  };
}

interface Place {
  session: string;
  options: SessionOptions;
}

/** Sends a message by update, or by signal with the same id if no worker answers in time. */
async function sendMessage(context: ClientContext, place: Place, request: SendRequest): Promise<SentMessage> {
  const content: SessionMessage = {
    ...checkMessage(request, place.options.agent),
    ...withFiles(await attach(context, request.files)),
  };
  const waits = { passes: isNotReady, forMs: context.readyMs, everyMs: 500 };
  const updateId = updateIdOf(content);
  const update = async (ms: number): Promise<SentMessage | undefined> => {
    const taken = await updateOnce(context, place, { name: UPDATES.send, content, updateId, ms });
    if (taken === SILENCE) return undefined;
    if (sessionIs.taken(taken)) return { ...taken, status: 'taken' };
    throw sessionNotFound(place.session);
  };
  return retry(waits, async () => {
    const taken = await updateIfServed(context, place.session, { send: update });
    if (taken !== undefined) return taken;
    await onceSent(place.session, () => signalOnce(context, place, { name: SIGNALS.send, content }));
    return { status: 'recorded', messageId: content.messageId };
  });
}

function checkMessage(
  { text, mode = 'queue', messageId, sender }: SendRequest,
  agent?: string,
): SessionMessage {
  const issue = textIssue(text);
  if (issue !== undefined) {
    const hint = text.trim() === '' ? undefined : 'put the text into a file that the agent can read';
    throw new CountersignError('usage', issue, { hint });
  }
  if (!MODES.includes(mode))
    throw new CountersignError('usage', `a message has no mode ${JSON.stringify(mode)}`);
  return { messageId: messageId ?? randomUUID(), text, mode, sender, agent };
}

async function sendControl(context: ClientContext, session: string, content: SessionControl) {
  const place = { session, options: {} };
  // A second update of another id could cancel the next turn.
  const control = { name: UPDATES.control, content, updateId: randomUUID() };
  const isTaken = await updateIfServed(context, session, {
    send: async (ms) =>
      (await updateOnce(context, place, { ...control, ms })) === SILENCE ? undefined : true,
  });
  if (isTaken !== true)
    await onceSent(session, () => signalOnce(context, place, { name: SIGNALS.control, content }));
}

/** Stands for an update without an answer: no worker answered in time, or the run takes no more updates. */
const SILENCE = Symbol('silence');

interface Sending {
  name: string;
  content: SessionMessage | SessionControl;
  /** The same for all attempts, so that they count once. */
  updateId: string;
}

/** Sends an update and waits for its answer. If an agent is named, the update also starts the session. */
async function updateOnce(
  context: ClientContext,
  { session, options }: Place,
  { name, content, updateId, ms }: Sending & { ms: number },
) {
  const { client, connection } = context;
  const args: [Sending['content']] = [content];
  const execute = async () => {
    const alone = () => client.workflow.getHandle(session).executeUpdate(name, { args, updateId });
    if (options.agent === undefined) return alone();
    const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOWS.session, {
      ...startOptions(session, options, options.agent),
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const both = client.workflow.executeUpdateWithStart(name, { args, updateId, startWorkflowOperation });
    return both.catch((error: unknown) => {
      // Together with a start, the error does not say why the update fails. An update without the start says why.
      if (grpcStatusOf(error) === STATUS.failedPrecondition) return alone();
      throw error;
    });
  };
  const send = () => {
    const end = Date.now() + ms;
    // A worker that fails at the session now may be replaced soon.
    return retry({ passes: isTaskFailing, forMs: ms }, () => connection.withDeadline(end, execute));
  };
  try {
    return await context.sendLimit.run(session, send);
  } catch (error) {
    if (isSilence(error) || isTaskFailing(error) || isUpdateTotal(detailsOf(error))) return SILENCE;
    throw await failureOf(context, session, error);
  }
}

/**
 * The id of an update. The same message id with other content gets another update id, so that the session can refuse
 * it.
 */
function updateIdOf(content: SessionMessage) {
  return `${content.messageId}:${digestText(contentOf(content)).slice(0, 16)}`;
}

async function signalOnce(
  context: ClientContext,
  { session, options }: Place,
  { name, content }: Pick<Sending, 'name' | 'content'>,
) {
  const { client, connection } = context;
  const { agent } = options;
  const send = async () => {
    if (agent === undefined) await client.workflow.getHandle(session).signal(name, content);
    else {
      const how = startOptions(session, options, agent);
      await client.workflow.signalWithStart(WORKFLOWS.session, {
        ...how,
        signal: name,
        signalArgs: [content],
      });
    }
  };
  try {
    await connection.withDeadline(Date.now() + TIMES.updateAnswer, send);
  } catch (error) {
    throw await failureOf(context, session, error);
  }
}

function startOptions(session: string, options: SessionOptions, agent: string) {
  const { taskQueue = TASK_QUEUE } = options;
  const origin = originGiven(options);
  const input: SessionInput = { agent, origin, budget: budgetGiven(options) };
  const memo: SessionMemo = { agent, state: 'idle', turns: 0, waiting: 0, text: '' };
  return {
    workflowId: session,
    taskQueue,
    args: [input],
    // The id of a session names its record, so it is never used for a second session.
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    memo: { [MEMO.session]: memo },
    staticSummary: `session with ${agent}`,
    priority: priorityGiven(options),
  } as const;
}

async function failureOf(context: ClientContext, session: string, error: unknown) {
  if (error instanceof WorkflowUpdateFailedError) return refusalOf(session, error);
  if (error instanceof WorkflowExecutionAlreadyStartedError || isNotFound(error))
    return (await isSession(context, session)) ? ended(session) : sessionNotFound(session);
  if (isSignalLimit(error)) return signalsFull(session, error);
  if (isAnswerLost(error)) return maybeTaken(session, error);
  return isNotReady(error) ? error : toCountersignError(error, `sending to session ${session}`);
}

function refusalOf(session: string, error: WorkflowUpdateFailedError) {
  const { cause } = error;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  const code = SESSION_REFUSALS.find((one) => one === type);
  if (code !== undefined) return new CountersignError(code, cause?.message ?? code, { data: { session } });
  return new CountersignError('not_found', `${session} is not a session: ${cause?.message ?? ''}`, {
    hint: 'countersign list --sessions shows the sessions there are',
    data: { session },
    cause: error,
  });
}

function ended(session: string) {
  const hint = 'start a session with another id';
  return new CountersignError('refused', `session ${session} has ended`, { hint, data: { session } });
}

function signalsFull(session: string, cause: unknown) {
  const message = `not on record: this run of session ${session} had all the signals that the server allows one, and no worker answered the update`;
  const hint = `see countersign show ${session}; a session goes on in a new run once its turn is over and a worker runs`;
  return new CountersignError('full', message, { hint, data: { session }, cause });
}
