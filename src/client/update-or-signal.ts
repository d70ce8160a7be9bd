import { CountersignError } from '../contract/errors';
import { SECOND, TIMES } from '../contract/limits';
import { describeTurn } from '../history/read';
import type { ClientContext } from './context';
import { liveWorkers } from './pending';

/** The time that a client waits before it checks whether a worker polls the queue. */
const UPDATE_LOOK = 3 * SECOND;

/** An update that may go unanswered. */
interface Sending<T> {
  /** Sends the update, again with the same id, and waits so many milliseconds. Undefined: no answer came. */
  send(ms: number): Promise<T | undefined>;
  /** The longest wait in all, in milliseconds, if a worker polls the queue. @default TIMES.updateAnswer */
  most?(): number;
}

/**
 * Sends an update and waits for its answer: a moment at first, and longer only if a worker polls the queue of the
 * workflow. Undefined: nobody answered, so the message goes by signal. The record then has it without a verdict.
 */
export async function updateIfServed<T>(
  context: ClientContext,
  workflowId: string,
  { send, most = () => TIMES.updateAnswer }: Sending<T>,
): Promise<T | undefined> {
  const first = await send(UPDATE_LOOK);
  if (first !== undefined) return first;
  return onceSent(workflowId, async () =>
    (await isServed(context, workflowId)) ? send(most() - UPDATE_LOOK) : undefined,
  );
}

/** Goes on with a message that was sent before. From then on, a server that does not answer leaves its fate open. */
export async function onceSent<T>(workflowId: string, goOn: () => Promise<T>): Promise<T> {
  try {
    return await goOn();
  } catch (error) {
    const isGone = error instanceof CountersignError && error.code === 'no_server';
    throw isGone ? maybeTaken(workflowId, error) : error;
  }
}

/** The error for a message of which the server does not say whether it arrived. */
export function maybeTaken(workflowId: string, cause: unknown): CountersignError {
  return new CountersignError(
    'server_failed',
    `the server did not say whether ${workflowId} took it; it may still take effect`,
    {
      hint: `countersign show ${workflowId} tells once the server answers`,
      data: { turn: workflowId },
      cause,
    },
  );
}

/** Whether a worker polls the queue of a turn. Also true if the API key does not permit this request. */
export async function isServed(context: ClientContext, turn: string): Promise<boolean> {
  try {
    const description = await describeTurn(context, turn);
    const name = description?.executionConfig?.taskQueue?.name;
    return !name || (await liveWorkers(context, { name, half: 'turns' })).length > 0;
  } catch (error) {
    // A key may permit decisions but not this query.
    if (error instanceof CountersignError && error.code === 'server_failed') return true;
    throw error;
  }
}
