import { z } from 'zod';
import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import type { ToolFailure } from '../contract/result';
import type { Safety } from '../contract/tool';
import type { CallLog } from './call-log';
import { cutOutput } from './cut-output';
import { fitArguments, type ReadyCall } from './prepare';
import { messageOf } from './format-result';
import type { Policy, Tool } from './types';
import { unlessAborted, within } from './within';

/** What is done with a call, safety and policy together. */
export interface PolicyVerdict {
  decision: 'run' | 'ask' | 'refuse';
  /** For the model and the approver; never holds what the policy threw. */
  reason?: string;
}

/** Whose policy is asked. */
export interface PolicyOwner {
  /** The agent's name. */
  agent: string;
  /** Absent: safety decides. */
  policy?: Policy | undefined;
  /** Takes what a policy throws. */
  log?: CallLog | undefined;
}

/** A tool as far as policies see it. */
export type PolicyTool = Pick<Tool, 'name' | 'safety' | 'effect' | 'categories'>;

/** A policy that has not answered by then has not answered. */
const ANSWER_MS = 5000;

const decision = z.enum(['run', 'ask', 'refuse']);
const policyAnswerSchema = z.union([
  decision.transform((answer) => ({ decision: answer, reason: undefined })),
  z.object({ decision, reason: z.string().optional() }),
]);

/**
 * The one policy check: asks the policy about one valid call, when it is prepared and again right before its handler.
 * Where an agent has no policy, safety decides: dangerous calls ask, others run. A policy can only tighten that.
 * No answer within 5 s, a throw or nonsense is `refuse`. Never rejects.
 */
export async function askPolicy(owner: PolicyOwner, tool: Tool, args: JsonObject): Promise<PolicyVerdict> {
  return tighten(await askFunction(owner, tool, args), tool.safety);
}

/** What the function policy says by itself; without one, that the call may run. Never rejects. */
export async function askFunction(
  owner: PolicyOwner,
  tool: PolicyTool,
  args: JsonObject,
): Promise<PolicyVerdict> {
  const { agent, policy, log } = owner;
  const { name, safety, effect, categories } = tool;
  if (policy === undefined) return { decision: 'run' };
  // A copy: what a policy does to the arguments must not reach the record.
  const call = { agent, tool: name, safety, effect, categories, arguments: structuredClone(args) };
  try {
    const answer = await within(
      Promise.resolve().then(() => policy(call)),
      ANSWER_MS,
    );
    return answer.ended ? understood(answer.value) : refuse('the policy did not answer in time');
  } catch (error) {
    log?.warn(`the policy failed on ${name}: ${messageOf(error)}`);
    return refuse('the policy could not decide');
  }
}

/** The result of a call that the policy refuses; `rest` says what ran, where that is known. */
export function policyRefusal({ reason }: PolicyVerdict, rest = ''): ToolFailure {
  return { code: 'refused', message: because('Policy refused this call', reason) + rest };
}

/** What is added to a refusal where it is known that the call was not started. */
export const NOTHING_RAN = ' Nothing ran.';

function understood(answer: unknown): PolicyVerdict {
  const parsed = policyAnswerSchema.safeParse(answer);
  if (!parsed.success) return refuse('the policy gave no answer that can be understood');
  const { decision: wanted, reason } = parsed.data;
  return reason === undefined
    ? { decision: wanted }
    : { decision: wanted, reason: cutOutput(reason, LIMITS.reasonBytes) };
}

/** The answer of a policy, tightened by safety. */
export function tighten(said: PolicyVerdict, safety: Safety): PolicyVerdict {
  return said.decision === 'run' ? { ...said, decision: bySafety(safety) } : said;
}

function bySafety(safety: Safety): 'run' | 'ask' {
  return safety === 'dangerous' ? 'ask' : 'run';
}

function refuse(reason: string): PolicyVerdict {
  return { decision: 'refuse', reason };
}

/** The answer to a dangerous call where no workflow waits for a person. */
type ApprovalAnswer =
  | { decision: 'approved'; reason?: string }
  /** The whole arguments, not a patch; they are validated like those of the model. */
  | { decision: 'modified'; arguments: JsonObject; reason?: string }
  | { decision: 'denied'; reason?: string };

/** Asked before a dangerous tool runs. Contract: a throw, or anything but an answer, is a denial. May take its time. */
export type Approve = (tool: Tool, args: JsonObject) => ApprovalAnswer | Promise<ApprovalAnswer>;

const reason = z.string().transform((text) => cutOutput(text, LIMITS.reasonBytes));

const approvalSchema = z.discriminatedUnion('decision', [
  z.object({ decision: z.literal('approved'), reason: reason.optional() }),
  z.object({
    decision: z.literal('modified'),
    arguments: z.record(z.string(), z.json()),
    reason: reason.optional(),
  }),
  z.object({ decision: z.literal('denied'), reason: reason.optional() }),
]);

/** An answer that was understood. */
type Approval = z.output<typeof approvalSchema>;

/** Asks, and takes everything that is not a clear yes for a denial. Rejects only when `signal` aborts meanwhile. */
async function askApproval(
  approve: Approve | undefined,
  call: { tool: Tool; args: JsonObject; signal?: AbortSignal | undefined },
): Promise<Approval> {
  if (approve === undefined)
    return { decision: 'denied', reason: 'it needs an approval and nobody can give one' };
  const asked = Promise.resolve().then(() => approve(call.tool, structuredClone(call.args)));
  const answered = asked.catch(failed);
  const { signal } = call;
  const answer = approvalSchema.safeParse(
    await (signal === undefined ? answered : unlessAborted(answered, signal)),
  );
  return answer.success
    ? answer.data
    : { decision: 'denied', reason: 'the approval could not be understood' };
}

function failed(): ApprovalAnswer {
  return { decision: 'denied', reason: 'asking for the approval failed' };
}

/** Whom to ask. */
interface Authorities extends PolicyOwner {
  approve?: Approve | undefined;
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
interface Forbidden {
  ok: false;
  args: JsonObject;
  failure: ToolFailure;
}

/** Asks the policy, then a person where safety or policy want one. Rejects only when the signal aborts meanwhile. */
export async function authorise(call: ReadyCall, by: Authorities): Promise<Permitted | Forbidden> {
  const { tool, args } = call;
  const verdict = await askPolicy(by, tool, args);
  if (verdict.decision === 'run') return { ok: true, call, approved: false };
  if (verdict.decision === 'refuse') return forbidden(args, policyRefusal(verdict, NOTHING_RAN));
  const answer = await askApproval(by.approve, { tool, args, signal: by.signal });
  if (answer.decision === 'approved') return { ok: true, call, approved: true };
  if (answer.decision === 'modified') return authoriseEdited(tool, answer, by);
  const message = because('A person denied this call', answer.reason) + NOTHING_RAN;
  return forbidden(args, { code: 'denied', message });
}

async function authoriseEdited(
  tool: Tool,
  { arguments: edited, reason }: Extract<Approval, { decision: 'modified' }>,
  by: Authorities,
): Promise<Permitted | Forbidden> {
  const call = fitArguments(tool, edited);
  if (!call.ok) return forbidden(edited, call.failure);
  const verdict = await askPolicy(by, tool, call.args);
  if (verdict.decision === 'refuse') return forbidden(call.args, policyRefusal(verdict, NOTHING_RAN));
  return { ok: true, call, approved: true, note: noteOf(call.args, reason) };
}

function forbidden(args: JsonObject, failure: ToolFailure): Forbidden {
  return { ok: false, args, failure };
}

function because(what: string, reason = 'no reason was given'): string {
  return `${what}: ${reason}.`;
}

function noteOf(args: JsonObject, reason = 'none given'): string {
  const now = JSON.stringify(args);
  return `[A person changed the arguments of this call to ${now}. Reason: ${reason}. Do not ask for the original again.]`;
}
