import type { JsonObject } from '../contract/json';
import type { ToolFailure } from '../contract/result';
import { askApproval, type Approve } from './approve';
import type { CallLog } from './call-log';
import { askPolicy, type PolicyVerdict } from './policy';
import { fit, type ReadyCall } from './prepare';
import { messageOf } from './thrown';
import type { Policy } from './types';

/** Whom to ask. */
export interface Authorities {
  agent: string;
  policy?: Policy | undefined;
  approve?: Approve | undefined;
  log?: CallLog | undefined;
  signal?: AbortSignal | undefined;
}

/** A call that may run now: as it is, or as a person changed it. */
export interface Permitted {
  ok: true;
  call: ReadyCall;
  approved: boolean;
  /** For the model; only where a person changed the arguments. */
  note?: string;
}

/** A call that may not run. */
export interface Forbidden {
  ok: false;
  args: JsonObject;
  failure: ToolFailure;
}

/** Asks the policy, then a person where safety or policy want one. Rejects only when the signal aborts meanwhile. */
export async function authorise(call: ReadyCall, by: Authorities): Promise<Permitted | Forbidden> {
  const verdict = await policyOn(call, by);
  if (verdict.decision === 'run') return { ok: true, call, approved: false };
  if (verdict.decision === 'refuse') return refused(call, verdict);
  const answer = await askApproval(by.approve, { ...call, signal: by.signal });
  if (answer.decision === 'approved') return { ok: true, call, approved: true };
  if (answer.decision === 'modified') return modified(call, answer, by);
  return forbidden(call.args, {
    code: 'denied',
    message: because('A person denied this call', answer.reason),
  });
}

async function modified(
  call: ReadyCall,
  answer: { arguments: JsonObject; reason?: string | undefined },
  by: Authorities,
): Promise<Permitted | Forbidden> {
  const changed = fit(call.tool, answer.arguments);
  if (!changed.ok) return forbidden(changed.args, changed.failure);
  const verdict = await policyOn(changed, by);
  if (verdict.decision === 'refuse') return refused(changed, verdict);
  return { ok: true, call: changed, approved: true, note: noteOf(changed.args, answer.reason) };
}

async function policyOn(
  { tool, args }: ReadyCall,
  { agent, policy, log }: Authorities,
): Promise<PolicyVerdict> {
  const { name, safety, effect, categories } = tool;
  const asked = { agent, tool: name, safety, effect, categories, arguments: structuredClone(args) };
  const verdict = await askPolicy(policy, asked);
  if (verdict.cause !== undefined) log?.warn(`the policy failed on ${name}: ${messageOf(verdict.cause)}`);
  return verdict;
}

function refused({ args }: ReadyCall, { reason }: PolicyVerdict): Forbidden {
  return forbidden(args, { code: 'refused', message: because('Policy refused this call', reason) });
}

function forbidden(args: JsonObject, failure: ToolFailure): Forbidden {
  return { ok: false, args, failure };
}

function because(what: string, reason = 'no reason was given'): string {
  return `${what}: ${reason}. Nothing ran.`;
}

function noteOf(args: JsonObject, reason = 'none given'): string {
  const now = JSON.stringify(args);
  return `[A person changed the arguments of this call to ${now}. Reason: ${reason}. Do not ask for the original again.]`;
}
