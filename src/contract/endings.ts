import { FAILURES } from './names';
import type { ToolFailure } from './result';

/**
 * How calls end that no handler ended: the words the model reads. The workflow says them, and whoever reads the record
 * says the same.
 */
export const ENDINGS = {
  /** Its request ran out of time. */
  expired: {
    code: 'expired',
    message: 'Nobody decided on this call in time. It expired and counts as denied; nothing ran.',
  },
  /** Its request was taken back. */
  withdrawn: {
    code: 'cancelled',
    message: 'The request was withdrawn before anybody decided. Nothing ran.',
  },
  /** It never started because its turn was cancelled. */
  neverStarted: {
    code: 'cancelled',
    message: 'The turn was cancelled before this call started. Nothing ran.',
  },
  /** It was cancelled with its turn. */
  cancelled: { code: 'cancelled', message: 'The turn was cancelled. This call did not finish.' },
} as const satisfies Record<string, ToolFailure>;

/** Who said something about a call, and why. */
interface Said {
  approver: string;
  reason?: string | undefined;
}

/** A person said no. */
export function denied({ approver, reason }: Said): ToolFailure {
  const why = reason === undefined || reason === '' ? 'no reason was given' : reason;
  return { code: 'denied', message: `${approver} denied this call: ${why}. Nothing ran.` };
}

/** A person found that an interrupted call did not take effect. */
export function didNot(said: Said): ToolFailure {
  return { code: 'transport', message: found(said, 'did not take effect') };
}

/** A person found that an interrupted call did take effect; with what it returned, as far as they know. */
export function happened(said: Said, content: string | undefined): string {
  const note = found(said, 'did take effect');
  return content === undefined ? note : `${note}\n\n${content}`;
}

function found({ approver, reason }: Said, what: string): string {
  const why = reason === undefined ? '' : ` Reason: ${reason}`;
  return `The call was interrupted. ${approver} found that it ${what}.${why}`;
}

/** How an activity ended that gave no outcome, in Temporal's terms. */
export interface LostActivity {
  cancelled: boolean;
  /** Which of its times was over. */
  timeout?: string | undefined;
  /** Type of an application failure. */
  type?: string | undefined;
  /** What it failed with. */
  message: string;
}

/** The result of a call that is proven never to have started; undefined where that is not proven. */
export function unstarted({ cancelled, timeout, type }: LostActivity): ToolFailure | undefined {
  if (cancelled) return ENDINGS.cancelled;
  if (timeout === 'SCHEDULE_TO_START')
    return { code: 'expired', message: 'No worker started this call in time. Nothing ran.' };
  if (type !== FAILURES.notRegistered) return undefined;
  const message = 'The worker that took this call does not have the tool. Nothing ran.';
  return { code: 'tool_not_found', message };
}

/** Why nobody knows what became of an unsafe call. */
export function doubt({ timeout, message }: LostActivity): string {
  if (timeout === undefined) return `the call failed on its way back: ${message}`;
  return timeout === 'HEARTBEAT'
    ? 'the worker stopped answering while the call ran'
    : 'the call was not heard of again after it started';
}

/** The result of a call that may run again and was lost at each attempt. */
export function lost({ timeout, message }: LostActivity): ToolFailure {
  if (timeout === undefined) return { code: 'unknown', message: message || 'The call failed.' };
  return timeout === 'HEARTBEAT'
    ? { code: 'transport', message: 'Every worker that ran this call was lost. It may run again safely.' }
    : { code: 'timeout', message: 'The call did not end in time, at any attempt.' };
}

/** The result of a call that its own worker could not prepare. */
export function unprepared(tool: string, why: string): ToolFailure {
  const message = `The worker that has ${tool} could not prepare this call: ${why}. Nothing ran.`;
  return { code: 'transport', message };
}
