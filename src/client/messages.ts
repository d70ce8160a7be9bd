import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Decision, Refused, Resolution } from '../contract/decision';
import { CountersignError } from '../contract/errors';
import { TIMES } from '../contract/limits';
import { is } from '../history/fold/guards';
import { isTransient, STATUS, statusOf, toCountersignError } from '../history/server-errors';
import { isNotFound } from './cancel-turn';
import type { Desk } from './desk';
import type { Answer } from './types';

/** A decision or resolution on its way to a turn, by either door. */
export interface Message {
  turn: string;
  update: string;
  signal: string;
  content: (Decision | Resolution) & { decisionId: string };
}

const BUSY_MS = 10_000;
const RETRY_MS = 200;
const SIGNAL_MS = 5_000;

/** Sends by update: the verdict, `closed` where the turn has ended or is not there, `silence` where no worker answered. */
export async function sendUpdate(desk: Desk, message: Message): Promise<Answer | 'closed' | 'silence'> {
  const { turn, update, content } = message;
  const handle = desk.client.workflow.getHandle(turn);
  const execute = () =>
    handle.executeUpdate<unknown, [Message['content']]>(update, {
      args: [content],
      updateId: content.decisionId,
    });
  try {
    const verdict = await whileBusy(() =>
      desk.connection.withDeadline(Date.now() + TIMES.updateAnswer, execute),
    );
    if (is.accepted(verdict)) return { status: 'accepted', verdict };
  } catch (error) {
    return answerOf(error, message);
  }
  throw notATurn(turn);
}

function answerOf(error: unknown, { turn }: Message): Answer | 'closed' | 'silence' {
  if (error instanceof WorkflowUpdateFailedError) {
    const verdict = refusalIn(error.cause);
    if (verdict === undefined) throw notATurn(turn, error);
    return { status: 'refused', verdict };
  }
  if (isNotFound(error)) return 'closed';
  if (isSilence(error)) return 'silence';
  throw toCountersignError(error, `deciding in turn ${turn}`);
}

function refusalIn(cause: unknown): Refused | undefined {
  const [refused] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return is.refused(refused) ? refused : undefined;
}

function isSilence(error: unknown): boolean {
  if (error instanceof Error && error.name === 'WorkflowUpdateRPCTimeoutOrCancelledError') return true;
  return statusOf(error) === STATUS.deadlineExceeded;
}

function notATurn(turn: string, cause?: unknown): CountersignError {
  const why = cause instanceof Error && cause.cause instanceof Error ? `: ${cause.cause.message}` : '';
  const hint = 'is its worker of this version? countersign doctor tells';
  return new CountersignError('server_failed', `turn ${turn} did not understand the decision${why}`, {
    hint,
    cause,
  });
}

/** Sends by signal: durable as soon as the server has it. False where the turn has ended or is not there. */
export async function sendSignal(desk: Desk, { turn, signal, content }: Message): Promise<boolean> {
  const handle = desk.client.workflow.getHandle(turn);
  const send = () => handle.signal(signal, content);
  try {
    await whileBusy(() => desk.connection.withDeadline(Date.now() + SIGNAL_MS, send));
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw toCountersignError(error, `deciding in turn ${turn}`);
  }
}

/** A turn that is just closing or continuing as new is busy for a moment; the same message is sent again. */
async function whileBusy<T>(act: () => Promise<T>): Promise<T> {
  const until = Date.now() + BUSY_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const passes = isTransient(error) && !isSilence(error);
      if (!passes || Date.now() >= until) throw error;
      await delay(RETRY_MS);
    }
  }
}
