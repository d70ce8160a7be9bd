import type { SpentDecision } from '../../contract/call';
import { LIMITS } from '../../contract/limits';
import type { FilePlan, Preview } from '../../contract/plan';
import { sha256 } from '../../system/sha256';
import { cutOutput } from '../../tools/cut-output';
import { describeFailure } from '../../tools/format-result';
import type { ActivityDeps } from '../deps';
import { aboutTurn, isLaterAttempt } from '../execute';
import { makePreview } from '../prepare-call';
import { allowedOf, type StartingCall, type Stop } from './starting-call';

/**
 * The preview has to be the one that the approver was shown. A plan with a target shows itself: screens show its hunks.
 * Nothing binds the text of any other preview to its plan. So the preview is made again if there is a plan, or if the
 * tool has a place: the preview then says what the call can reach there.
 */
export async function asShown(call: StartingCall, { run }: ActivityDeps): Promise<Stop | undefined> {
  const { input, registered } = call;
  const { decision, plan, callId } = input;
  const tool = registered?.tool;
  const hasPlace = tool?.declaredDigest !== undefined;
  if (tool === undefined || decision === undefined || (plan === undefined && !hasPlace)) return undefined;
  // An edit may have made it a call that nobody has to be asked about: no preview was made of it.
  if (decision.previewDigest === undefined && tool.safety !== 'dangerous') return undefined;
  try {
    const preview = await makePreview(
      { tool, value: allowedOf(call).value, callId },
      { run, about: aboutTurn(input) },
    );
    if (isAsShown(preview, { decision, plan, hasPlace })) return undefined;
    return notAsShown(`It is now:\n${cutOutput(preview?.text ?? '', LIMITS.reasonBytes)}`);
  } catch (error) {
    // The handler compares the file with such a plan. An earlier attempt may have left nothing to change.
    if (hasTarget(plan)) return undefined;
    return notAsShown(describeFailure(error, run.secrets?.hide).message);
  }
}

/** Whether a preview made now shows what the approver was shown. The plan of the call's input may say anything. */
function isAsShown(
  now: Preview | undefined,
  { decision, plan, hasPlace }: { decision: SpentDecision; plan: FilePlan | undefined; hasPlace: boolean },
) {
  // An earlier attempt may have left nothing to change, so that there is no plan any more.
  if (hasTarget(plan) && now?.plan === undefined && isLaterAttempt()) return true;
  if (hasTarget(now?.plan) !== hasTarget(plan)) return false;
  if (!hasTarget(plan)) return (now && sha256(now.text)) === decision.previewDigest;
  return !hasPlace || now?.plan?.baseHash !== plan?.baseHash || now?.plan?.targetHash === plan?.targetHash;
}

function hasTarget(plan: FilePlan | undefined) {
  return plan !== undefined && plan.targetHash !== '';
}

function notAsShown(how: string): Stop {
  const message = `Conflict: a file changed since this was approved, or the approver was shown something else. This attempt ran nothing. Ask for it anew. ${how}`;
  return { failure: { code: 'conflict', message } };
}
