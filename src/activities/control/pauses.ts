import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { CallInput, HeldInput, Paused } from '../../contract/call';
import { readGrantsMemo } from '../../contract/control/grant-forms';
import type { GrantsMemo } from '../../contract/control/grants';
import { type AboutToStart, type Pause, pauseOf, pauseText, readPauses } from '../../contract/control/pauses';
import { defined } from '../../contract/defined';
import { errorMessage } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { CONTROL, FAILURES, MEMO, WORKFLOWS } from '../../contract/names';
import { isSilence } from '../../history/server-errors';
import { createGrantsReader, type GrantsReader } from './grants';

/** The server's answer about the workflow that holds the pauses and the grants. `absent`: there is no such workflow. */
export type ControlLook =
  { state: 'open'; pauses: readonly Pause[]; grants: GrantsMemo } | { state: 'closed' | 'absent' };

type OpenLook = Extract<ControlLook, { state: 'open' }>;

/** Says whether a call or a model call may start now. */
export interface PausesReader {
  /**
   * Why the call or model call may not start, in words. Undefined: it is known that no pause holds the call. Never
   * rejects.
   */
  whyHeld(what: AboutToStart): Promise<string | undefined>;
}

/** A reader of pauses that also gives the grants from the same answer, without a further request. */
export interface ControlReader extends PausesReader {
  /** The void grants, or why they are not known, in words. Never rejects. */
  grants(): Promise<GrantsMemo | { why: string }>;
}

/** The source that a reader asks, and the clock that shows the age of an answer. */
interface ReaderParts {
  look(): Promise<ControlLook>;
  /** Milliseconds of a clock that does not change when somebody sets the time of day. @default performance.now */
  now?(): number;
  /** Receives a line if the server gives no answer, or is slow. */
  warn?(line: string): void;
}

/** Calls that ask within this time after a request share its answer, in milliseconds. */
const SHARED_MS = 1_000;
/** An answer that takes longer than this is slow, in milliseconds. */
const SLOW_MS = 1_000;

/**
 * Makes a reader of the pauses for all calls of a process. Calls that ask within a second after a request share its
 * answer. Every call is held if the answer cannot be read, or if the workflow was seen before and is absent now.
 */
export function createPausesReader({
  look,
  now = () => performance.now(),
  warn = () => undefined,
}: ReaderParts): ControlReader {
  const note = telling(warn);
  let wasSeen = false;
  let last: { at: number; read: Promise<ControlLook> } | undefined;
  const read = (): Promise<ControlLook> => {
    if (last !== undefined && now() - last.at < SHARED_MS) return last.read;
    const begun = { at: now(), read: look() };
    begun.read.then(
      () => {
        const tookMs = now() - begun.at;
        note(
          tookMs > SLOW_MS ? `took ${(tookMs / 1000).toFixed(1)} s, so every call takes longer` : undefined,
        );
      },
      (error: unknown) => {
        // The next call asks again.
        last = last === begun ? undefined : last;
        note(`did not come, so no call with an effect starts: ${errorMessage(error)}`);
      },
    );
    last = begun;
    return begun.read;
  };
  const seen = async (): Promise<ControlLook> => {
    const found = await read();
    wasSeen ||= found.state !== 'absent';
    return found;
  };
  const known = async <T>(of: (open: OpenLook) => T): Promise<T | { why: string }> => {
    try {
      const found = await seen();
      return found.state === 'open' ? of(found) : { why: `${CONTROL.workflowId} is ${found.state}` };
    } catch (error) {
      return { why: errorMessage(error) };
    }
  };
  return {
    whyHeld: async (what) => {
      try {
        const found = await seen();
        return whyHeld(found, what, wasSeen);
      } catch (error) {
        return `nobody can tell whether it is paused: ${errorMessage(error)}`;
      }
    },
    grants: () => known(({ grants }) => grants),
  };
}

/** Makes a function that tells once that the server's answers are not as they should be, until they are again. */
function telling(warn: (line: string) => void): (what: string | undefined) => void {
  let told: string | undefined;
  return (what) => {
    if (what !== undefined && told === undefined) warn(`the server's answer on what is paused ${what}`);
    told = what;
  };
}

function whyHeld(found: ControlLook, what: AboutToStart, wasSeen: boolean): string | undefined {
  if (found.state === 'open') {
    const pause = pauseOf(found.pauses, what);
    return pause && pauseText(pause);
  }
  // The workflow was never there, so nobody can have paused anything.
  if (found.state === 'absent' && !wasSeen) return undefined;
  const now = found.state === 'closed' ? 'was closed' : 'is gone';
  return `the workflow ${CONTROL.workflowId}, which holds the pauses, ${now}; countersign setup starts it again`;
}

/** Asks the server once, with the client of the current activity. */
export async function lookAtControl(): Promise<ControlLook> {
  const { client } = Context.current();
  try {
    return await client.withDeadline(Date.now() + TIMES.pausesKnown, () => describeControl(client));
  } catch (error) {
    if (isSilence(error)) throw new Error(`the server gave none within ${TIMES.pausesKnown / 1000} s`);
    if (error instanceof WorkflowNotFoundError) return { state: 'absent' };
    throw error;
  }
}

async function describeControl(client: Client): Promise<ControlLook> {
  const { status, type, memo } = await client.workflow.getHandle(CONTROL.workflowId).describe();
  if (type !== WORKFLOWS.control) throw new Error(`${CONTROL.workflowId} is another workflow: ${type}`);
  if (status.name !== 'RUNNING') return { state: 'closed' };
  const pauses = readPauses(memo?.[MEMO.pauses]);
  const grants = readGrantsMemo(memo?.[MEMO.grants]);
  if (pauses !== undefined && grants !== undefined) return { state: 'open', pauses, grants };
  throw new Error('this worker cannot read the pauses; does it have the key of those that set them?');
}

/** The part of a worker that reads the pauses. Without it, nothing is held. */
interface Asking {
  pauses?: PausesReader;
}

/**
 * The output of a call that a pause holds. Undefined: the call may start. A call without an effect always may, and so
 * may a call in a dry world.
 */
export async function pausedCall(
  { pauses }: Asking,
  input: CallInput,
  mayHaveRun: boolean,
): Promise<Paused | undefined> {
  if (input.effect === 'pure' || input.dry === true) return undefined;
  const paused = await pauses?.whyHeld({ agent: input.agent, tool: input.tool });
  if (paused === undefined) return undefined;
  const ran = mayHaveRun && input.effect !== 'unsafe' ? { mayHaveRun: true as const } : {};
  return { paused, ...defined({ secret: input.secret }), ...ran };
}

/** @throws ApplicationFailure if model calls of an agent are paused. The server then tries the activity again. */
export async function requireUnpaused({ pauses }: Asking, agent: string): Promise<void> {
  const held = await pauses?.whyHeld({ agent });
  if (held !== undefined) throw pausedFailure(held);
}

/** The activity `countersign.held`. It ends once no pause holds the call. Until that it fails, and is tried again. */
export async function untilNotHeld({ pauses }: Asking, { agent, tool }: HeldInput): Promise<void> {
  const held = await pauses?.whyHeld({ agent, tool });
  if (held !== undefined) throw pausedFailure(held);
}

/**
 * A failure after which the server waits before it tries again: 5 s at first, then twice as long each time, up to a
 * minute. The waits vary by a quarter, so that a thousand calls do not come back at the same time.
 */
function pausedFailure(why: string): ApplicationFailure {
  const { attempt } = Context.current().info;
  const { pausedRetry, pausedRetryMost } = TIMES;
  const wait = Math.min(pausedRetryMost, pausedRetry * 2 ** Math.min(attempt - 1, 10));
  return ApplicationFailure.create({
    type: FAILURES.paused,
    message: why,
    nextRetryDelay: Math.round(wait * (0.75 + Math.random() / 2)),
    category: 'BENIGN',
  });
}

/** The readers through which the calls of a process ask the workflow that holds pauses and grants. */
export function createControlReaders(warn: (line: string) => void): {
  pauses: PausesReader;
  grants: GrantsReader;
} {
  const pauses = createPausesReader({ look: lookAtControl, warn });
  return { pauses, grants: createGrantsReader({ memo: pauses.grants }) };
}
