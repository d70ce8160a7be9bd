import type { JsonObject } from '../../contract/json';
import { foldCase, type JudgedForm } from '../../contract/text/spelling';
import type { Effect, JsonSchema, Safety } from '../../contract/tool';
import { type RuleCondition, conditionArguments, type ConditionFacts } from './condition';

/** A call to which rules are applied. */
export interface RuledCall extends Omit<JudgedForm, 'args'> {
  agent: string;
  tool: string;
  safety: Safety;
  effect: Effect;
  args: JsonObject;
  /** The schema of the arguments. Absent: conditions read every number without a fraction as a whole number. */
  schema?: JsonSchema;
  /** What else is judged. The strictest ruling on any of the forms counts. @default none */
  forms?: readonly JudgedForm[];
}

/** A call in each form in which it is judged. */
export function formsOf({ forms = [], ...call }: RuledCall): [RuledCall, ...RuledCall[]] {
  return [call, ...forms.map((form) => ({ ...call, ...form }))];
}

/** The parts of a rule that say which calls it fits. An absent part fits every call. */
export interface Matching {
  tools?: readonly string[];
  agents?: readonly string[];
  condition?: RuleCondition;
}

/** A rule that was checked, and whether it fits the call. `failed`: the condition could not be evaluated. */
interface CheckedRule<R> {
  rule: R;
  outcome: ReturnType<RuleCondition['evaluate']>;
}

/**
 * Checks the rules for the tool and the agent of a call, one by one in their order, so that the caller may stop early.
 * The rules are indexed by tool, so the rules of other tools cost nothing.
 */
export function rulesThatFit<R extends Matching>(
  rules: readonly R[],
): (call: RuledCall) => Iterable<CheckedRule<R>> {
  const named = new Set(rules.flatMap(({ tools = [] }) => tools));
  const others = rules.filter(({ tools }) => tools === undefined);
  const byTool = new Map(
    [...named].map((tool) => [tool, rules.filter(({ tools }) => tools?.includes(tool) ?? true)]),
  );
  return (call) => looks(byTool.get(call.tool) ?? others, call);
}

function* looks<R extends Matching>(rules: readonly R[], call: RuledCall): Generator<CheckedRule<R>> {
  const facts = factsOf(call);
  for (const rule of rules) {
    const { agents, condition } = rule;
    if (agents?.includes(call.agent) === false) continue;
    yield { rule, outcome: condition?.evaluate(facts(), call.isFolded) ?? true };
  }
}

function factsOf({ args, schema, isFolded, tool, safety, effect, ...of }: RuledCall): () => ConditionFacts {
  let facts: ConditionFacts | undefined;
  // The tools of ours that have folded forms are in lower case.
  const agent = isFolded ? foldCase(of.agent) : of.agent;
  return () => (facts ??= { args: conditionArguments(args, schema), tool, agent, safety, effect });
}
