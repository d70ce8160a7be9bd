import type { CallInput } from '../contract/call';
import type { StateHolder } from '../contract/tool';
import { digestJson } from '../contract/digest';
import { isTurnIn } from '../contract/session';
import { sharedState } from '../tools/executor';
import type { CallContext, Tool } from '../tools/types';
import type { ActivityDeps } from './deps';
import { isResetRun, placeHere } from './reset-history';

/** State that a call shares with others, in the memory of this process. */
export interface HeldState {
  /** The state in the form in which the handler gets it. */
  given: NonNullable<CallContext['state']>;
  holder: StateHolder;
  /** Whether the handler was called. */
  isUsed: boolean;
}

/**
 * The state of a call that starts here. Undefined if its tool shares no state. What the turn says about the holder
 * counts only if it names this worker. The key of the state has the id of the workflow, which comes from the server,
 * or the id of the session with which that id begins. So no input reaches the state of a turn or a session with another
 * id. After a reset the state begins anew, because calls that the reset undid may have changed it.
 *
 * @param idempotencyKey The key of the call. This key names a state that begins here.
 */
export function heldState(
  { holderQueue: queue }: Pick<ActivityDeps, 'holderQueue'>,
  tool: Tool,
  { input, idempotencyKey }: { input: CallInput; idempotencyKey: string },
): HeldState | undefined {
  if (tool.state === 'call') return undefined;
  const { namespace, workflowId, runId } = placeHere();
  const { holder: named, lost = named !== undefined, session = '' } = input.state ?? {};
  const of = tool.state === 'session' && isTurnIn(session, workflowId) ? session : workflowId;
  const ours = named?.queue === queue ? named : undefined;
  const isBefore = ours !== undefined && ours.runId !== runId && isResetRun(input);
  const holder: StateHolder =
    ours === undefined
      ? { queue, begunBy: idempotencyKey, runId }
      : { queue, begunBy: ours.begunBy, runId: isBefore ? runId : ours.runId };
  const group = [tool.state, tool.stateGroup, tool.taskQueue ?? null];
  const isElsewhere = ours === undefined && lost;
  const given =
    tool.state === 'worker'
      ? sharedState(digestJson([queue, group]), isElsewhere)
      : sharedState(
          digestJson([queue, group, namespace, of, holder.runId, holder.begunBy]),
          isBefore || isElsewhere,
        );
  return { given, holder, isUsed: false };
}
