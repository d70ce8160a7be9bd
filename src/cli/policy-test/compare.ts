import { askRules, type CheckedCall, type RuleOwner } from '../../authority/rules/worker-verdict';
import type { PolicyRules } from '../../authority/rules/policy-file';
import type { ApproversSource } from '../../authority/rules/current-file';
import type { PolicyAction, PolicyRule } from '../../contract/policy-rule';
import { callSummary } from '../../contract/text/call-summary';
import type { Agent } from '../../tools/define-agent';
import { fitArguments } from '../../tools/prepare';
import type { PastCall } from './past';

/** The agents, rules and approvers file to which past calls are compared. */
interface PolicyCandidate {
  agents: readonly Agent[];
  rules: PolicyRules | undefined;
  approvers: ApproversSource | undefined;
}

/** A past call that would now be decided in another way. */
export interface Otherwise {
  turn: string;
  callId: string;
  agent: string;
  tool: string;
  /** Tool and arguments in a line. */
  summary: string;
  was: PolicyAction;
  outcome: string;
  would: PolicyAction;
  /** The rule that fits. Absent if no rule fits. */
  rule?: string;
  why?: string;
}

/** How often a rule fitted. */
interface RuleCount {
  name: string;
  then: PolicyRule['then'];
  fits: number;
}

/** The result of `policy test`. */
export interface PolicyTest {
  /** The source of the rules. Null if there are no rules. */
  from: string | null;
  turns: number;
  calls: number;
  same: number;
  otherwise: Otherwise[];
  rules: RuleCount[];
  /** The number of calls, for each tool, whose tool or agent the config does not have. */
  unknown: Record<string, number>;
  /** Calls whose arguments today's tool does not accept. */
  invalid: number;
  /** The number of forks. Forks are left out, because nobody decided in them. */
  forks: number;
}

/** Takes calls one by one. At the end, says which calls would be decided in another way. */
export interface PolicyComparison {
  add(call: PastCall): Promise<void>;
  test(counts: Pick<PolicyTest, 'turns' | 'forks'>): PolicyTest;
}

/**
 * Compares past calls with the decisions of a worker with this config: function policies, rules and approvers file
 * together.
 */
export function createComparison({ agents, rules, approvers }: PolicyCandidate): PolicyComparison {
  const byName = new Map(agents.map((agent) => [agent.name, agent]));
  const counts = (rules?.rules ?? []).map(({ name, then }): RuleCount => ({ name, then, fits: 0 }));
  const counted = new Map(counts.map((one) => [one.name, one]));
  const found = { calls: 0, same: 0, invalid: 0 };
  const otherwise: Otherwise[] = [];
  const unknown = new Map<string, number>();
  return {
    async add(call) {
      const agent = byName.get(call.agent);
      const checked = asChecked(agent, call);
      if (checked === 'invalid') return void (found.invalid += 1);
      if (checked === undefined) return void unknown.set(call.tool, (unknown.get(call.tool) ?? 0) + 1);
      const owner: RuleOwner = { agent: call.agent, policy: agent?.policy, rules, approvers };
      const { decision: would, reason: why, ruling } = await askRules(owner, checked);
      found.calls += 1;
      const fitted = counted.get(ruling?.rule ?? '');
      if (fitted) fitted.fits += 1;
      if (would === call.was) return void (found.same += 1);
      const { turn, callId, tool, was, outcome } = call;
      const summary = callSummary({ callId, tool, arguments: call.args });
      const facts = { turn, callId, agent: call.agent, tool, summary, was, outcome, would };
      otherwise.push({ ...facts, rule: ruling?.rule, why });
    },
    test: (seen) => ({
      from: rules?.from ?? null,
      ...seen,
      ...found,
      otherwise,
      rules: counts,
      unknown: Object.fromEntries(unknown),
    }),
  };
}

/** The call with today's tool. A tool that the config does not have is taken from the record, if the record has it. */
function asChecked(
  agent: Agent | undefined,
  { tool: name, args, request }: PastCall,
): CheckedCall | 'invalid' | undefined {
  const own = agent?.registry.get(name);
  if (own) {
    const fitted = fitArguments(own, args);
    return fitted.ok ? { ...fitted, requesters: [] } : 'invalid';
  }
  // Tools of MCP servers are not in the config.
  if (agent === undefined || request === undefined) return undefined;
  const { safety, effect, schema, server } = request;
  const categories = server === undefined ? [] : ['mcp'];
  return { tool: { name, safety, effect, categories, schema }, args, requesters: [] };
}
