import { z } from 'zod';
import { LIMITS } from '../contract/limits';
import { cutOutput } from './cut-output';
import type { Policy, PolicyCall } from './types';
import { within } from './within';

/** What is done with a call, safety and policy together. */
export interface PolicyVerdict {
  decision: 'run' | 'ask' | 'refuse';
  /** For the model and the approver; never holds what the policy threw. */
  reason?: string;
  /** What the policy threw; for the log only. */
  cause?: unknown;
}

/** A policy that has not answered by then has not answered. */
const ANSWER_MS = 5000;

const decision = z.enum(['run', 'ask', 'refuse']);
const answerSchema = z.union([
  decision.transform((given) => ({ decision: given, reason: undefined })),
  z.object({ decision, reason: z.string().optional() }),
]);

/**
 * Asks the policy about one valid call. Safety decides where there is none: dangerous calls ask, others run.
 * A policy can only tighten that. No answer within 5 s, a throw or nonsense is `refuse`. Never rejects.
 */
export async function askPolicy(policy: Policy | undefined, call: PolicyCall): Promise<PolicyVerdict> {
  if (policy === undefined) return { decision: bySafety(call) };
  try {
    const answer = await within(
      Promise.resolve().then(() => policy(call)),
      ANSWER_MS,
    );
    return answer.ended ? tighten(answer.value, call) : refuse('the policy did not answer in time');
  } catch (error) {
    return { ...refuse('the policy could not decide'), cause: error };
  }
}

function tighten(answer: unknown, call: PolicyCall): PolicyVerdict {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) return refuse('the policy gave no answer that can be understood');
  const given = parsed.data.decision;
  const reason =
    parsed.data.reason === undefined ? {} : { reason: cutOutput(parsed.data.reason, LIMITS.reasonBytes) };
  return { decision: given === 'run' ? bySafety(call) : given, ...reason };
}

function bySafety({ safety }: PolicyCall): 'run' | 'ask' {
  return safety === 'dangerous' ? 'ask' : 'run';
}

function refuse(reason: string): PolicyVerdict {
  return { decision: 'refuse', reason };
}
