import type { GrantedCall } from '../../authority/grants/worker-claim';
import type { CallInput, CallOutput, StartedBy } from '../../contract/call';
import { MAY_HAVE_RUN } from '../../contract/call-texts';
import { idempotencyKey } from '../../contract/names';
import type { ToolFailure } from '../../contract/result';
import type { Agent } from '../../tools/define-agent';
import { NOTHING_RAN } from '../../tools/function-policy';
import { asCalled } from '../../tools/prepare';
import type { Tool } from '../../tools/types';
import type { ActivityDeps } from '../deps';
import { cachedOutput, notRunResult, ranBefore } from '../execute';
import { proven } from '../given-back';
import { handBack, lackOf } from '../leave-to-another';

/**
 * Why a call does not start. `failure`: that is its result. `lack`: this worker cannot run it or cannot tell, so another
 * attempt or worker takes it. Anything else is the output as it is.
 */
export type Stop = { failure: ToolFailure } | { lack: string } | CallOutput;

/** What the rules leave to the other checks. */
export interface Allowed extends Pick<StartedBy, 'roster'> {
  /** The arguments in the form that the handler takes. */
  value: unknown;
  /** Whether signatures let the call start. */
  isSigned: boolean;
  /** Set if a grant may take the place of a decision. */
  granted?: GrantedCall;
}

/** A call on its way to its handler. The checks note here what the later ones need. */
export interface StartingCall {
  input: CallInput;
  /** `<callKey>:<generation>`. */
  readonly key: string;
  /** The agent and the tool of the call. Undefined: this worker lacks one of them. */
  readonly registered: { agent: Agent; tool: Tool } | undefined;
  /** What this worker lacks where the agent or the tool is not registered, in words. */
  readonly lack: string;
  /** What the rules say. Undefined: they were not asked. */
  asked?: Allowed | Stop;
  startedBy: StartedBy;
}

/** A call of which nothing is known yet but whether this worker has its tool. */
export function startingCall(worker: ActivityDeps, input: CallInput): StartingCall {
  const agent = worker.agents.get(input.agent);
  const tool = agent?.registry.get(input.tool);
  return {
    input,
    key: idempotencyKey(input),
    registered: agent && tool && { agent, tool: asCalled(tool, input.arguments) },
    lack: lackOf(worker, input) ?? `no worker with the tool ${input.tool} here`,
    startedBy: {},
  };
}

/**
 * What the rules leave to the other checks.
 *
 * @throws Error if nothing has allowed the call yet: a check that needs this is too early in the list.
 */
export function allowedOf({ asked }: StartingCall): Allowed {
  if (asked === undefined || !('value' in asked)) throw new Error('the rules have not allowed this call');
  return asked;
}

/** The output of a call that does not start. If it is given back, this worker proves that. */
export async function stoppedOutput(
  { input, registered }: StartingCall,
  worker: ActivityDeps,
  stop: Stop,
): Promise<CallOutput> {
  if ('lack' in stop) return proven(worker, handBack(input, stop.lack));
  if (!('failure' in stop)) return proven(worker, withEarlier(input, stop));
  const failure = withWhatRan(input, stop.failure);
  return cachedOutput(worker, notRunResult({ tool: registered?.tool, input }, failure));
}

/**
 * Notes that an earlier attempt may have run, if people are asked again: a denial then does not say that nothing ran.
 */
function withEarlier(input: CallInput, output: CallOutput): CallOutput {
  return 'askAgain' in output && input.effect !== 'unsafe' && ranBefore(input)
    ? { ...output, mayHaveRun: true }
    : output;
}

function withWhatRan(input: CallInput, failure: ToolFailure): ToolFailure {
  if (ranBefore(input)) return { ...failure, message: `${failure.message} ${MAY_HAVE_RUN}` };
  return failure.code === 'refused' ? { ...failure, message: failure.message + NOTHING_RAN } : failure;
}
