import type { JsonObject } from '../contract/json';
import type { Agent } from '../tools/define-agent';
import { askPolicy, type PolicyVerdict } from '../tools/policy';
import type { Tool } from '../tools/types';
import type { ActivityDeps } from './deps';

/** Whose policy is asked about which tool. */
export interface PolicyQuestion {
  agent: Agent;
  tool: Tool;
  log: ActivityDeps['log'];
}

/** Asks the agent's policy; the same question when a call is prepared and right before its handler. What it threw goes to the log only. */
export async function askAgentPolicy(
  question: PolicyQuestion,
  effective: JsonObject,
): Promise<PolicyVerdict> {
  const { agent, tool, log } = question;
  const { name, safety, effect, categories } = tool;
  const call = { agent: agent.name, tool: name, safety, effect, categories, arguments: effective };
  const verdict = await askPolicy(agent.policy, call);
  if (verdict.cause !== undefined)
    log.warn('a policy failed', { agent: agent.name, tool: name, error: verdict.cause });
  return verdict;
}
