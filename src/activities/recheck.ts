import type { CallInput } from '../contract/call';
import { digestJson } from '../contract/digest';
import { validationFailure } from '../contract/make-result';
import type { ToolFailure } from '../contract/result';
import { askAgentPolicy, type PolicyQuestion } from './agent-policy';
import { contentDigest } from './content-digest';

/** Arguments as the handler wants them, or why the call must not run. */
export type Rechecked = { ok: true; value: unknown } | { ok: false; failure: ToolFailure };

/**
 * The last look before the handler: tool and arguments are those that were approved, the arguments still fit, the
 * policy still holds, a call that needs a decision has one, and one of a dry world changes nothing. Nothing has run yet, so saying no is always safe.
 */
export async function recheck(question: PolicyQuestion, input: CallInput): Promise<Rechecked> {
  const { tool } = question;
  if (tool.digest !== input.toolDigest) {
    return refused('the tool changed since this call was prepared; ask for it again');
  }
  if (digestJson(input.arguments, contentDigest) !== input.argsDigest)
    return refused('the arguments are not those that were approved');
  if (input.dry === true && (tool.effect !== 'pure' || input.decision !== undefined))
    return refused('its turn is a fork in a dry world');
  const parsed = tool.parse(input.arguments);
  if (!parsed.ok) return { ok: false, failure: validationFailure(parsed.issues) };
  const { decision, reason } = await askAgentPolicy(question, input.arguments);
  if (decision === 'refuse') return refused(reason ?? 'policy forbids it');
  if (decision === 'ask' && input.decision === undefined) return refused('it needs a decision and has none');
  return { ok: true, value: parsed.value };
}

function refused(why: string): Rechecked {
  return { ok: false, failure: { code: 'refused', message: `Refused before it ran: ${why}. Nothing ran.` } };
}
