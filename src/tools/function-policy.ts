import { z } from 'zod';
import { isStricter } from '../authority/rules/stricter-rule';
import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import type { ToolFailure } from '../contract/result';
import type { JudgedForm } from '../contract/text/spelling';
import type { Safety } from '../contract/tool';
import type { CallLog } from './call-log';
import { cutOutput } from './cut-output';
import { fitArguments, furtherForms, type ReadyCall } from './prepare';
import { messageOf } from './format-result';
import type { Policy, Tool } from './types';
import { unlessAborted, within } from './wait-within';

/** The decision about a call, from safety and policy together. */
export interface PolicyVerdict {
  decision: 'run' | 'ask' | 'refuse';
  /** For the model and the approver. Never contains the message of an error that the policy threw. */
  reason?: string;
}

/** The agent whose policy is asked. */
export interface PolicyOwner {
  /** The agent's name. */
  agent: string;
  /** Absent: safety decides. */
  policy?: Policy;
  /** Logs the errors of the policy. */
  log?: CallLog;
}

/** The parts of a tool that policies see. */
export type PolicyTool = Pick<Tool, 'name' | 'safety' | 'effect' | 'categories'>;

/** The longest time for an answer of a policy. */
const ANSWER_MS = 5000;

const decision = z.enum(['run', 'ask', 'refuse']);
const policyAnswerSchema = z.union([
  decision.transform((answer) => ({ decision: answer, reason: undefined })),
  z.object({ decision, reason: z.string().optional() }),
]);

/**
 * Asks the policy of an executor about one valid call: when the call is prepared, and again right before its handler.
 * Activities ask `askRules` instead, which also knows the policy rules and the approvers file. If an agent has no policy, safety decides: dangerous calls ask, others run. A policy can only tighten
 * that. A policy that throws, returns an invalid answer, or takes longer than 5 s counts as `refuse`. Never rejects.
 */
export async function askPolicy(
  owner: PolicyOwner,
  { tool, args, value }: Pick<ReadyCall, 'tool' | 'args' | 'value'>,
): Promise<PolicyVerdict> {
  const forms = owner.policy === undefined ? [] : await furtherForms(tool, args, value);
  return tighten(await askFunction(owner, tool, [{ args }, ...forms]), tool.safety);
}

/** The strictest verdict of the policy function alone on the forms of a call; `run` without a policy. Never rejects. */
export async function askFunction(
  owner: PolicyOwner,
  tool: PolicyTool,
  forms: readonly JudgedForm[],
): Promise<PolicyVerdict> {
  let strictest: PolicyVerdict | undefined;
  for (const { args } of owner.policy === undefined ? [] : forms) {
    const verdict = await askOnce(owner, tool, args);
    if (strictest === undefined || isStricter(verdict.decision, strictest.decision)) strictest = verdict;
  }
  return strictest ?? { decision: 'run' };
}

async function askOnce(owner: PolicyOwner, tool: PolicyTool, args: JsonObject): Promise<PolicyVerdict> {
  const { agent, policy, log } = owner;
  const { name, safety, effect, categories } = tool;
  if (policy === undefined) return { decision: 'run' };
  // A copy, so that a policy's changes to the arguments do not reach the record.
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

/** The failure for a call that the policy refuses. `rest` is added to its message, such as `NOTHING_RAN`. */
export function policyRefusal({ reason }: PolicyVerdict, rest = ''): ToolFailure {
  return { code: 'refused', message: because('Policy refused this call', reason) + rest };
}

/** The sentence for a refusal if it is known that the call was not started. */
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
  return said.decision === 'run' && safety === 'dangerous' ? { ...said, decision: 'ask' } : said;
}

function refuse(reason: string): PolicyVerdict {
  return { decision: 'refuse', reason };
}

/** The answer to a dangerous call if no workflow waits for a person. */
type ApprovalAnswer =
  | { decision: 'approved'; reason?: string }
  /** The complete arguments, not a patch. They are validated like the model's arguments. */
  | { decision: 'modified'; arguments: JsonObject; reason?: string }
  | { decision: 'denied'; reason?: string };

/** Called before a dangerous tool runs. Contract: a throw or an invalid answer is a denial. May take any time. */
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

/** A valid answer. */
type Approval = z.output<typeof approvalSchema>;

/** Asks a person. An invalid answer or an error counts as a denial. Rejects only when `signal` aborts meanwhile. */
async function askApproval(
  approve: Approve | undefined,
  call: { tool: Tool; args: JsonObject; signal?: AbortSignal },
): Promise<Approval> {
  if (approve === undefined)
    return { decision: 'denied', reason: 'it needs an approval and nobody can give one' };
  const asked = Promise.resolve().then(() => approve(call.tool, structuredClone(call.args)));
  const answered = asked.catch(() => ({ decision: 'denied', reason: 'asking for the approval failed' }));
  const { signal } = call;
  const answer = approvalSchema.safeParse(
    await (signal === undefined ? answered : unlessAborted(answered, signal)),
  );
  return answer.success
    ? answer.data
    : { decision: 'denied', reason: 'the approval could not be understood' };
}

/** The policy and the person to ask. */
interface Authorities extends PolicyOwner {
  approve?: Approve;
  signal?: AbortSignal;
}

/** A call that may run now, unchanged or with arguments that a person changed. */
export interface Permitted {
  ok: true;
  call: ReadyCall;
  approved: boolean;
  /** A note for the model. Present only if a person changed the arguments. */
  note?: string;
}

/** A call that may not run. */
interface Forbidden {
  ok: false;
  args: JsonObject;
  failure: ToolFailure;
}

/**
 * Asks the policy, and then a person if safety or policy require one. Rejects only when the signal aborts meanwhile.
 */
export async function authorise(call: ReadyCall, by: Authorities): Promise<Permitted | Forbidden> {
  const { tool, args } = call;
  const verdict = await askPolicy(by, call);
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
  const verdict = await askPolicy(by, call);
  if (verdict.decision === 'refuse') return forbidden(call.args, policyRefusal(verdict, NOTHING_RAN));
  return { ok: true, call, approved: true, note: noteOf(call.args, reason) };
}

function forbidden(args: JsonObject, failure: ToolFailure): Forbidden {
  return { ok: false, args, failure };
}

function because(what: string, reason = 'no reason was given') {
  return `${what}: ${reason}.`;
}

function noteOf(args: JsonObject, reason = 'none given') {
  const now = JSON.stringify(args);
  return `[A person changed the arguments of this call to ${now}. Reason: ${reason}. Do not ask for the original again.]`;
}
