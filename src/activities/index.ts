import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { CallInput, CallOutput, HeldInput, VerifyInput, VerifyOutput } from '../contract/call';
import { errorMessage } from '../contract/errors';
import { isObject } from '../contract/json';
import { ACTIVITIES, FAILURES, RAISE_BUDGET, RAISE_SESSION_BUDGET } from '../contract/names';
import { isRaise } from '../contract/spending/budget';
import { isWellFormed, wellFormed } from '../contract/text/bytes';
import { whyUnreadable } from '../contract/unreadable';
import type { PrepareInput, PrepareOutput, ThinkOutput } from '../contract/think';
import type { BurstInput, BurstOutput, FirstInput } from '../contract/burst/burst';
import { burst, firstBurst } from './burst/burst';
import { recall } from './conversation';
import type { CompactInput, CompactOutput } from '../contract/session';
import type { ActivityDeps } from './deps';
import type { ChildEnd, ChildWaitInput } from '../contract/turn';
import { waitForChild } from './check-child';
import { aboutTurn } from './execute';
import { untilNotHeld } from '../authority/pauses/worker-hold';
import { prepareRaise, runRaise } from './raise-budget';
import { renewalRefusal } from './ask-again';
import { proven } from './given-back';
import { prepareCall } from './prepare-call';
import { lackOf, leaveToAnother, waitedMs } from './leave-to-another';
import { handBackUnregistered, runTool } from './run-tool';
import { agentOf } from './model/with-model';
import { compact } from './compact';
import { think } from './think';
import { verify } from './check-doubt';

/** Activities by type: our own types, and the name of each tool of the task queue. */
export type Activities = Record<string, (input: never) => Promise<unknown>>;

/** Makes the activities of one worker. */
export function createActivities(deps: ActivityDeps): Activities {
  const raise = async (input: CallInput): Promise<CallOutput> => proven(deps, await runRaise(deps, input));
  const run = readable((input: CallInput): Promise<CallOutput> => runTool(deps, input));
  const tools = [...deps.toolNames].map((name) => [name, run] as const);
  return {
    [ACTIVITIES.think]: readable((input: FirstInput) => thinkOrBurst(deps, input)),
    [ACTIVITIES.burst]: readable((input: BurstInput): Promise<BurstOutput> => burst(deps, input)),
    [ACTIVITIES.prepare]: readable((input: PrepareInput): Promise<PrepareOutput> => prepare(deps, input)),
    [ACTIVITIES.verify]: readable((input: VerifyInput): Promise<VerifyOutput> => verify(deps, input)),
    [ACTIVITIES.child]: readable((input: ChildWaitInput): Promise<ChildEnd> => waitForChild(input)),
    [ACTIVITIES.recall]: readable(recall),
    [ACTIVITIES.compact]: readable((input: CompactInput): Promise<CompactOutput> => compact(deps, input)),
    [ACTIVITIES.held]: readable((input: HeldInput) => untilNotHeld(deps, input)),
    [RAISE_BUDGET]: readable(raise),
    [RAISE_SESSION_BUDGET]: readable(raise),
    ...Object.fromEntries(tools),
    default: readable((input: unknown) => notRegistered(deps, input)),
  };
}

/**
 * Wraps an activity so that it fails with a reason if this worker cannot read its input. Its failure is always UTF-8,
 * because half a character in a short failure would end the worker.
 */
function readable<I, O>(activity: (input: I) => Promise<O>): (input: I) => Promise<O> {
  return async (input) => {
    const unreadable = whyUnreadable(input);
    if (unreadable !== undefined)
      throw new Error(`this worker cannot read the input: ${unreadable.why}. This attempt ran nothing.`);
    try {
      return await activity(input);
    } catch (error) {
      throw isTorn(error) ? mended(error) : error;
    }
  };
}

/** The longest chain of causes that is looked at. */
const MOST_CAUSES = 10;

/** Whether the text of an error or of one of its causes has half a character. */
function isTorn(error: unknown, level = 0): boolean {
  const [message, name] = [errorMessage(error), nameOf(error)];
  if (!isWellFormed(message) || !isWellFormed(name)) return true;
  return error instanceof Error && error.cause !== undefined && level < MOST_CAUSES
    ? isTorn(error.cause, level + 1)
    : false;
}

/** The same failure for Temporal, with texts that are UTF-8. */
function mended(error: unknown, level = 0): Error {
  const message = wellFormed(errorMessage(error));
  const inner = error instanceof Error && level < MOST_CAUSES ? error.cause : undefined;
  const cause = inner === undefined ? undefined : mended(inner, level + 1);
  if (error instanceof CancelledFailure) return new CancelledFailure(message, error.details, cause);
  const type = wellFormed(nameOf(error));
  if (!(error instanceof ApplicationFailure)) return ApplicationFailure.create({ message, type, cause });
  const { nonRetryable, nextRetryDelay, category } = error;
  const details = error.details ?? [];
  const kept = {
    cause,
    nextRetryDelay: nextRetryDelay ?? undefined,
    category: category ?? undefined,
  };
  return ApplicationFailure.create({ message, type, nonRetryable: nonRetryable === true, details, ...kept });
}

/** The type of a failure, as Temporal records it. */
function nameOf(error: unknown) {
  if (error instanceof ApplicationFailure && typeof error.type === 'string') return error.type;
  return error instanceof Error ? error.name : 'Error';
}

/** Takes one step or, if the turn has no reply yet and its agent says so, a burst of steps. */
function thinkOrBurst(deps: ActivityDeps, input: FirstInput): Promise<ThinkOutput | BurstOutput> {
  const gate = deps.agents.get(input.agent)?.gate;
  if (gate === undefined || input.burst === undefined) return think(deps, input);
  return firstBurst(deps, { ...input, burst: input.burst }, gate);
}

/**
 * Gives a call back to the turn if this worker's task queue lacks its tool. The turn waits for a worker that has the
 * tool. Before that, an earlier start of an unsafe call is looked for. Any other activity fails as in the SDK, but its
 * arguments are not logged.
 */
async function notRegistered(deps: ActivityDeps, input: unknown): Promise<CallOutput> {
  if (isCall(input)) return handBackUnregistered(deps, input);
  const { activityType } = Context.current().info;
  throw ApplicationFailure.create({
    type: FAILURES.notRegistered,
    message: `this worker has no activity "${activityType}"`,
  });
}

/**
 * Whether the input is the input of a call. Any activity may arrive here, also an activity of another application's
 * workflow.
 */
function isCall(input: unknown): input is CallInput {
  return isObject(input) && typeof input['callKey'] === 'string' && typeof input['agent'] === 'string';
}

async function prepare(deps: ActivityDeps, input: PrepareInput): Promise<PrepareOutput> {
  if (isRaise(input.tool)) return prepareRaise(deps, input);
  const agent = agentOf(deps, input.agent);
  const lack = lackOf(deps, input);
  if (lack !== undefined && waitedMs() < deps.agentWaitMs) throw leaveToAnother(deps, lack);
  const unfit = await renewalRefusal(deps.approvers, input);
  if (unfit !== undefined) return { call: unfit };
  const call = await prepareCall(agent, input, {
    ...deps,
    about: aboutTurn(input),
    origin: input.origin,
  });
  const schema = call.kind === 'ask' ? agent.registry.get(input.tool)?.schema : undefined;
  return { call, schema };
}
