import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { CallInput, HeldInput, Paused } from '../../contract/call';
import {
  type AboutToStart,
  CONTROL_HINTS,
  CONTROL_STATES,
  type Pause,
  pauseOf,
  pauseText,
  readPauses,
} from './pause';
import { errorMessage } from '../../contract/errors';
import { SECOND, TIMES } from '../../contract/limits';
import { CONTROL, FAILURES, MEMO, WORKFLOWS } from '../../contract/names';
import { isSilence, unlessNotFound } from '../../history/server-errors';

/** Calls of a process that ask about pauses or about one grant within this time share one answer. */
const ANSWER_SHARED = SECOND;

/** Says whether a call or a model call may start now. */
export interface PausesReader {
  /**
   * Why the call or model call may not start, in words. Undefined: it is known that no pause holds the call. Never
   * rejects.
   */
  whyHeld(what: AboutToStart): Promise<string | undefined>;
}

/** The source that a reader asks, and the clock that shows the age of an answer. */
interface ReaderParts {
  look(): Promise<readonly Pause[]>;
  /** Milliseconds of a clock that does not change when somebody sets the time of day. @default performance.now */
  now?(): number;
  /** Receives a line if the server gives no answer, or is slow. */
  warn?(line: string): void;
}

/** An answer that takes longer than this is slow, in milliseconds. */
const SLOW_MS = 1_000;

/**
 * Makes a reader of the pauses for all calls of a process. Calls that ask within a second after a request share its
 * answer. Every call is held if the answer cannot be read.
 */
export function createPausesReader({
  look,
  now = () => performance.now(),
  warn = () => undefined,
}: ReaderParts): PausesReader {
  const note = telling(warn);
  const read = sharing(async () => {
    const from = now();
    try {
      const pauses = await look();
      const tookMs = now() - from;
      note(tookMs > SLOW_MS ? `took ${(tookMs / 1000).toFixed(1)} s, so every call takes longer` : undefined);
      return pauses;
    } catch (error) {
      note(`did not come, so no call with an effect starts: ${errorMessage(error)}`);
      throw error;
    }
  }, now);
  return {
    whyHeld: async (what) => {
      try {
        const pause = pauseOf(await read(''), what);
        return pause && pauseText(pause);
      } catch (error) {
        return `nobody can tell whether it is paused: ${errorMessage(error)}`;
      }
    },
  };
}

/** Asks for each key at most once a second, so that calls share answers. After a failure, the next call asks again. */
export function sharing<T>(ask: (key: string) => Promise<T>, now: () => number): (key: string) => Promise<T> {
  const asked = new Map<string, { at: number; answer: Promise<T> }>();
  return (key) => {
    for (const [one, { at }] of asked) if (now() - at >= ANSWER_SHARED) asked.delete(one);
    const found = asked.get(key);
    if (found !== undefined) return found.answer;
    const begun = { at: now(), answer: ask(key) };
    begun.answer.catch(() => asked.get(key) === begun && asked.delete(key));
    asked.set(key, begun);
    return begun.answer;
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

/**
 * Asks the server for the pauses, with the client of the current activity. Where the workflow that holds them is closed
 * or gone, `restart` starts it again, and its new pauses count.
 */
export async function lookAtControl(restart: (client: Client) => Promise<void>): Promise<readonly Pause[]> {
  const { client } = Context.current();
  try {
    return await client.withDeadline(Date.now() + TIMES.pausesKnown, async () => {
      const found = await describeControl(client);
      if (found !== undefined) return found;
      await restart(client);
      const again = await describeControl(client);
      if (again === undefined) throw new Error(`${CONTROL_STATES.closed}. ${CONTROL_HINTS.closed}`);
      return again;
    });
  } catch (error) {
    if (isSilence(error)) throw new Error(`the server gave none within ${TIMES.pausesKnown / 1000} s`);
    throw error;
  }
}

/** The pauses. Undefined: the workflow that holds them is closed or gone. */
async function describeControl(client: Client): Promise<readonly Pause[] | undefined> {
  const found = await unlessNotFound(client.workflow.getHandle(CONTROL.workflowId).describe());
  if (found === undefined) return undefined;
  const { status, type, memo } = found;
  if (type !== WORKFLOWS.control) throw new Error(`${CONTROL.workflowId} is another workflow: ${type}`);
  if (status.name === 'PAUSED') throw new Error(`${CONTROL_STATES.suspended}. ${CONTROL_HINTS.suspended}`);
  if (status.name !== 'RUNNING') return undefined;
  const pauses = readPauses(memo?.[MEMO.pauses]);
  if (pauses !== undefined) return pauses;
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
export function pausedCall(
  { pauses }: Asking,
  input: CallInput,
  mayHaveRun: boolean,
): Promise<Paused | undefined> | undefined {
  if (pauses === undefined || input.effect === 'pure' || input.dry === true) return undefined;
  return heldBy(pauses, input, mayHaveRun);
}

async function heldBy(
  pauses: PausesReader,
  input: CallInput,
  mayHaveRun: boolean,
): Promise<Paused | undefined> {
  const paused = await pauses.whyHeld({ agent: input.agent, tool: input.tool });
  if (paused === undefined) return undefined;
  const ran = mayHaveRun && input.effect !== 'unsafe' ? { mayHaveRun: true as const } : {};
  return { paused, secret: input.secret, ...ran };
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
function pausedFailure(why: string) {
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
