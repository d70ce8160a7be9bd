import type { Countersign } from '../client';
import type { Accepted, Decision } from '../contract/decision';
import { CountersignError } from '../contract/errors';
import type { JsonObject } from '../contract/json';
import { defined } from '../history/defined';
import { waitForRequest, type WaitOptions } from './wait';

/** Who decides, and why. */
export interface NextOptions extends WaitOptions {
  reason?: string;
  /** @default 'test' */
  approver?: string;
}

/** How to approve. */
export interface ApproveOptions extends NextOptions {
  /** The whole arguments to run instead of those proposed; the decision is `modified` then. */
  arguments?: JsonObject;
  /** Only these hunks of a file proposal. */
  hunks?: string[];
}

/**
 * Waits for the next request of a turn, or of a workflow that gates calls, and approves it as it is, or as changed.
 *
 * @throws CountersignError as `waitForRequest`, and `decision_refused` with the verdict as data.
 */
export function approveNext(
  client: Countersign,
  turn: string,
  options: ApproveOptions = {},
): Promise<Accepted> {
  const { arguments: args, hunks } = options;
  const decision = args === undefined ? 'approved' : 'modified';
  return decideNext(client, turn, {
    ...options,
    content: { decision, ...defined({ arguments: args, hunks }) },
  });
}

/** Waits for the next request and denies it. Errors: as `approveNext`. */
export function denyNext(client: Countersign, turn: string, options: NextOptions = {}): Promise<Accepted> {
  return decideNext(client, turn, { ...options, content: { decision: 'denied' } });
}

type Content = Pick<Decision, 'decision' | 'arguments' | 'hunks'>;

async function decideNext(
  client: Countersign,
  turn: string,
  { content, reason, approver = 'test', ...wait }: NextOptions & { content: Content },
): Promise<Accepted> {
  const { callId, callKey, argsDigest } = await waitForRequest(client, turn, wait);
  const decision = {
    callId,
    callKey,
    argsDigest,
    approver,
    channel: 'test',
    ...content,
    ...defined({ reason }),
  };
  const answer = await client.decide(turn, decision);
  if (answer.status === 'accepted') return answer.verdict;
  if (answer.status === 'refused') {
    const { code, message } = answer.verdict;
    throw new CountersignError('decision_refused', `${turn}/${callId} was refused, ${code}: ${message}`, {
      data: { verdict: answer.verdict },
    });
  }
  throw new CountersignError('still_waiting', `no worker answered the decision on ${turn}/${callId}`, {
    hint: 'It is recorded and takes effect when a worker returns.',
  });
}
