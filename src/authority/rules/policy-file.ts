import { z } from 'zod';
import { endOfDay, POLICY_ACTIONS, type PolicyAction, type PolicyRule } from '../../contract/policy-rule';
import { isStricter } from './stricter-rule';
import { CountersignError } from '../../contract/errors';
import { readTextFile } from '../../system/named-files';
import { checkCovered, checkNames, checkWhen, type KnownNames, spellingWarnings } from './check-rules';
import { actionBy, type RuleCondition } from './condition';
import { formsOf, type Matching, type RuledCall, rulesThatFit } from './which-rules-fit';
import { MOST_RULES, ruleBase } from './approvers-schema';
import {
  type Complain,
  mistakeLine,
  mistakeLines,
  type YamlPath,
  readYaml,
  schemaMistakes,
} from '../../system/yaml';
import { DAY } from '../../contract/limits';

/** The most days that the `until` of a rule may be ahead. */
const MOST_RULE_DAYS = 31;

/** A rule that fits a call, and its action. */
export interface FittingRule {
  rule: PolicyRule;
  /** `refuse` if the condition of the rule could not be evaluated. */
  action: PolicyAction;
  /** Why the condition could not be evaluated. */
  failed?: string;
}

/** The checked rules of a policy. Immutable. */
export interface PolicyRules {
  /** The path of the file with the rules, or `config`. */
  readonly from: string;
  readonly rules: readonly PolicyRule[];
  /** How a call may leave a rule by its spelling. Empty if the tools are not known. */
  readonly warnings: readonly string[];
  /** The first rule that fits a call at a time, in milliseconds. Undefined if no rule fits. Never throws. */
  rulingOn(call: RuledCall, now: number): FittingRule | undefined;
}

const rule = z.strictObject({
  ...ruleBase,
  then: z.enum(POLICY_ACTIONS),
  reason: z.string().min(1).max(1_000).optional(),
  until: z
    .string()
    .refine((text) => !Number.isNaN(endOfDay(text)), 'must be a day such as 2026-12-24')
    .optional(),
});

const policySchema = z.strictObject({
  rules: z.array(rule).max(MOST_RULES, `must be at most ${MOST_RULES}`),
});
type Content = z.output<typeof policySchema>;
type RuleContent = Content['rules'][number];

/**
 * Loads the policy of a config: from a file of rules in YAML or JSON, or from a list of rules. Without `known`, every
 * name of a tool or an agent is accepted.
 *
 * @throws CountersignError `config_invalid` with each mistake, in a file with line and column; `file_failed` if there
 * is none to read.
 */
export async function loadPolicy(
  source: string | readonly PolicyRule[],
  known?: KnownNames,
): Promise<PolicyRules> {
  if (typeof source !== 'string') return policyOf(source, known);
  return parsePolicy(await readTextFile(source), source, known);
}

/** Like `loadPolicy`, but takes the text of the file. */
export function parsePolicy(text: string, file: string, known?: KnownNames): PolicyRules {
  const read = readYaml<Content>(text, policySchema);
  if (!read.ok) throw invalid(read.mistakes.map((one) => mistakeLine(file, one)));
  const { content, mistakeAt } = read.file;
  return checked(content.rules, { known, from: file }, (path, message, into) =>
    mistakeLine(file, mistakeAt(path, message, into)),
  );
}

function policyOf(rules: readonly PolicyRule[], known: KnownNames | undefined): PolicyRules {
  const place = (path: YamlPath, message: string) => `config: \`policy\`: ${path.join('.')}: ${message}`;
  const parsed = policySchema.safeParse({ rules });
  if (!parsed.success)
    throw invalid(
      parsed.error.issues.flatMap(schemaMistakes).map(({ path, message }) => place(path, message)),
    );
  return checked(parsed.data.rules, { known, from: 'config' }, place);
}

function invalid(mistakes: readonly string[]) {
  return new CountersignError(
    'config_invalid',
    mistakeLines(mistakes),
    'Correct the rules; `countersign policy` looks at them again.',
  );
}

/** A rule with its parsed condition and its end. */
interface Ruled extends Matching {
  rule: PolicyRule;
  /** The end of its last day, in milliseconds. From this time on the rule fits no call. */
  endsAt: number;
}

function checked(
  rules: readonly RuleContent[],
  { known, from }: { known: KnownNames | undefined; from: string },
  place: (path: YamlPath, message: string, into?: number) => string,
): PolicyRules {
  const now = Date.now();
  const mistakes: string[] = [];
  const complain: Complain = (path, message, into) => void mistakes.push(place(path, message, into));
  const conditions = new Map<number, RuleCondition>();
  for (const [at, one] of rules.entries()) {
    checkUntil(one, at, { now, complain });
    if (known !== undefined) checkNames(one, at, { known, complain, mayRun: one.until !== undefined });
    const condition = checkWhen(one, at, { known, complain });
    if (condition !== undefined) conditions.set(at, condition);
  }
  checkCovered(rules, { conditions, complain }, ({ until }) => until === undefined);
  if (mistakes.length > 0) throw invalid(mistakes);
  const ruled = rules.map((one, at): Ruled => {
    const { tools, agents, until } = one;
    const endsAt = until === undefined ? Infinity : endOfDay(until);
    return { rule: Object.freeze(one), tools, agents, condition: conditions.get(at), endsAt };
  });
  return Object.freeze<PolicyRules>({
    from,
    rules: ruled.map((one) => one.rule),
    warnings: spellingWarnings(rules, conditions, known),
    rulingOn: rulings(ruled),
  });
}

/**
 * Checks a rule with `until`: it has to say `run`, to name its tools, and to end soon. A rule that has already ended is
 * valid, but fits no call.
 */
function checkUntil(
  { until, then, tools }: RuleContent,
  at: number,
  { now, complain }: { now: number; complain: Complain },
) {
  if (until === undefined) return;
  const path = ['rules', at, 'until'];
  if (then !== 'run') complain(path, `only a rule that says \`run\` has \`until\``);
  else if (tools === undefined) complain(path, 'a rule with `until` names its `tools`');
  else if (endOfDay(until) > now + (MOST_RULE_DAYS + 1) * DAY)
    complain(path, `must be at most ${MOST_RULE_DAYS} days from today`);
}

function rulings(ruled: readonly Ruled[]): PolicyRules['rulingOn'] {
  const looks = rulesThatFit(ruled);
  const first = (call: RuledCall, now: number): FittingRule | undefined => {
    for (const { rule: one, outcome } of looks(call)) {
      const { rule, endsAt } = one;
      const does = actionBy(outcome, rule.then);
      if (does !== undefined && endsAt > now) return { rule, ...does };
    }
    return undefined;
  };
  return (call, now) =>
    formsOf(call)
      .map((form) => first(form, now))
      .reduce(stricterFit);
}

/** The stricter of two answers. No rule is stricter than a rule that lets a call run. */
function stricterFit(one: FittingRule | undefined, other: FittingRule | undefined): FittingRule | undefined {
  if (one === undefined || other === undefined)
    return [one, other].find((fit) => fit && fit.action !== 'run');
  return isStricter(other.action, one.action) ? other : one;
}
