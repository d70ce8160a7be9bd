import { isObject } from '../../contract/json';
import { RAISE_BUDGET, RAISE_SESSION_BUDGET } from '../../contract/names';
import { BUDGET_KINDS, raiseSchema } from '../../contract/spending/budget';
import { RAISE } from '../../contract/spending/raise';
import type { JsonSchema, Safety } from '../../contract/tool';
import { NO_TRUTH, type RuleCondition, readCondition } from './condition';
import { checkKeys, checkRevoked, checkPasskeys } from './check-keys';
import { checkPeople, checkRoster } from './check-people';
import { checkPermits } from './roles-and-visibility';
import type { ReadFile, RuleContent } from './approvers-schema';
import type { Complain, Mistake } from '../../system/yaml';

/** The parts of a tool that the checks of rules need. */
interface RuledTool {
  safety: Safety;
  schema: JsonSchema;
  /** Absent: the tool takes paths and URLs in every spelling. */
  spelling?: object;
  /** @default it does */
  parsesToJson?(): boolean;
}

/** The tools and agents that a file may name. Without them, every name of a tool or an agent is accepted. */
export interface KnownNames {
  tools: ReadonlyMap<string, RuledTool>;
  /** Absent: every name is accepted. */
  agents?: readonly string[];
  /**
   * MCP servers whose tools are not known yet. Every name that begins with `server__` is accepted for such a server.
   */
  servers: readonly string[];
}

/** The variables that conditions of rules may name. */
const RULE_VARIABLES = ['args', 'tool', 'agent', 'safety', 'effect'] as const;

/** Checks the meaning of a file. Finds all mistakes in one pass, in the order of the file. */
export function checkFile(file: ReadFile, known: KnownNames | undefined) {
  const mistakes: Mistake[] = [];
  const complain: Complain = (path, message, into) => void mistakes.push(file.mistakeAt(path, message, into));
  const { people, rules, groups } = file.content;
  const named = new Set([...Object.keys(groups), ...Object.values(people).flatMap((one) => one.groups)]);
  checkPeople(file, named, complain);
  checkPermits(file, named, complain);
  const keys = checkKeys(file, complain);
  const passkeys = checkPasskeys(file, complain);
  const revoked = checkRevoked(file, complain);
  const conditions = new Map<number, RuleCondition>();
  for (const [at, rule] of rules.entries()) {
    checkRoster(rule, at, { file, named, complain });
    if (known !== undefined) checkNames(rule, at, { known: withRaises(known), complain });
    const condition = checkWhen(rule, at, { known: known && withRaises(known), complain });
    if (condition !== undefined) conditions.set(at, condition);
  }
  checkCovered(rules, { conditions, complain });
  checkDefault(rules, complain);
  mistakes.sort((a, b) => a.line - b.line || a.column - b.column);
  const warnings = spellingWarnings(rules, conditions, known);
  return {
    /** Each condition by the position of its rule. */
    conditions,
    keys,
    passkeys,
    revoked,
    mistakes,
    /** How a call may leave a rule without a mistake in the file. */
    warnings,
  };
}

/**
 * Adds the requests for more budget to the tools, as dangerous tools. A turn asks for more budget as for a dangerous
 * call, and rules can name these requests like tools.
 */
function withRaises({ tools, ...known }: KnownNames): KnownNames {
  const kinds = BUDGET_KINDS.map((kind) => raiseSchema(kind)['properties']);
  const schema: JsonSchema = { properties: Object.assign({}, ...kinds), additionalProperties: false };
  const raises = [RAISE_BUDGET, RAISE_SESSION_BUDGET].map((name): [string, RuledTool] => [
    name,
    { safety: RAISE.safety, schema },
  ]);
  return { ...known, tools: new Map([...tools, ...raises]) };
}

/** The parts of a rule that say which calls it fits. The rule is from the approvers file or from the policy. */
interface Matching {
  name: string;
  tools?: readonly string[];
  agents?: readonly string[];
  when?: string;
  then: string;
}

/**
 * Checks that the tools and agents of a rule exist. `mayRun`: the rule may let a dangerous tool run without a decision.
 */
export function checkNames(
  rule: Matching,
  at: number,
  { known, complain, mayRun }: { known: KnownNames; complain: Complain; mayRun?: boolean },
): void {
  for (const [index, tool] of (rule.tools ?? []).entries()) {
    const path = ['rules', at, 'tools', index];
    const found = known?.tools.get(tool);
    const isOfServer = known?.servers.some((server) => tool.startsWith(`${server}__`)) === true;
    if (found === undefined && !isOfServer) complain(path, `there is no tool '${tool}'`);
    if (rule.then === 'run' && mayRun !== true && found?.safety === 'dangerous')
      complain(['rules', at, 'then'], `'${tool}' is dangerous: a rule cannot let it run without a decision`);
  }
  for (const [index, agent] of (rule.agents ?? []).entries())
    if (known.agents?.includes(agent) === false)
      complain(['rules', at, 'agents', index], `there is no agent '${agent}'`);
}

/**
 * Reads and checks the condition of a rule. Undefined if the rule has no condition, or if the condition cannot be read.
 */
export function checkWhen(
  rule: Matching,
  at: number,
  { known, complain }: { known: KnownNames | undefined; complain: Complain },
): RuleCondition | undefined {
  if (rule.when === undefined) return undefined;
  const path = ['rules', at, 'when'];
  const read = readCondition(rule.when, RULE_VARIABLES);
  if (!read.ok) {
    complain(path, read.mistake.message, read.mistake.at);
    return undefined;
  }
  const { condition } = read;
  if (condition.isConstant) {
    const always = condition.evaluate({});
    complain(
      path,
      always === true
        ? 'this is always true: leave it out'
        : `'${rule.name}' can never match: this is never true`,
    );
  }
  const tools = (rule.tools ?? []).flatMap((name) => known?.tools.get(name) ?? []);
  const isAll = rule.tools !== undefined && tools.length === rule.tools.length;
  for (const field of condition.fields)
    if (isAll && !tools.some((tool) => mayHave(tool.schema, field)))
      complain(
        path,
        `'${rule.name}' can never match: no tool of it has an argument '${field}'`,
        rule.when.indexOf(field),
      );
  for (const field of condition.truths)
    if (isAll && tools.every(({ schema }) => isNoTruth(schema, field)))
      complain(path, `'args.${field}' ${NO_TRUTH}`, rule.when.indexOf(field));
  return condition;
}

/** Whether a schema gives an argument one type that is not boolean. */
function isNoTruth({ properties }: JsonSchema, field: string) {
  const schema = isObject(properties) && Object.hasOwn(properties, field) ? properties[field] : undefined;
  return isObject(schema) && typeof schema['type'] === 'string' && schema['type'] !== 'boolean';
}

/**
 * Warns of comparisons that another spelling of the same path or URL does not fit, and of tools whose arguments rules
 * cannot judge as the handler gets them.
 */
export function spellingWarnings(
  rules: readonly Matching[],
  conditions: ReadonlyMap<number, RuleCondition>,
  known: KnownNames | undefined,
): string[] {
  return rules.flatMap(({ name: rule, tools = [...(known?.tools.keys() ?? [])] }, at) => {
    const { isSpelled = false, fields = [] } = conditions.get(at) ?? {};
    return tools.flatMap((name) => {
      const tool = known?.tools.get(name);
      const reads = tool === undefined || fields.some((field) => mayHave(tool.schema, field));
      if (known === undefined || !reads) return [];
      return [
        isSpelled && !tool?.spelling
          ? [
              `'${rule}' compares a path or a URL, and ${name} may take other spellings of it (./x, X, a port)`,
            ]
          : [],
        tool?.parsesToJson?.() === false
          ? [`'${rule}' judges arguments of ${name} as the model wrote them where its parser returns no JSON`]
          : [],
      ].flat();
    });
  });
}

function mayHave({ properties, additionalProperties, ...schema }: JsonSchema, field: string) {
  const isPlain = ['$ref', 'anyOf', 'oneOf', 'allOf', 'patternProperties', 'if'].every(
    (key) => !(key in schema),
  );
  if (!isPlain || !isObject(properties)) return true;
  return (
    Object.hasOwn(properties, field) || (additionalProperties !== undefined && additionalProperties !== false)
  );
}

/**
 * Checks for rules with the same name, and for rules that can never decide a call because an earlier rule decides all
 * of their calls. `takes`: whether a rule decides every call that it fits.
 */
export function checkCovered<R extends Matching>(
  rules: readonly R[],
  { conditions, complain }: { conditions: ReadonlyMap<number, RuleCondition>; complain: Complain },
  takes: (rule: R) => boolean = () => true,
): void {
  for (const [at, rule] of rules.entries()) {
    const same = rules.findIndex(({ name }) => name === rule.name);
    if (same !== at) complain(['rules', at, 'name'], `there are two rules '${rule.name}'`);
    const before = rules.find((other, index) => index < at && takes(other) && covers(other, rule));
    if (before !== undefined && (rule.when === undefined || conditions.has(at)))
      complain(
        ['rules', at],
        `'${rule.name}' can never match: '${before.name}' before it takes each of its calls`,
      );
  }
}

function checkDefault(rules: readonly RuleContent[], complain: Complain) {
  const { name, tools, agents, when }: Partial<RuleContent> = rules.at(-1) ?? {};
  const isDefault = name === 'default' && [tools, agents, when].every((one) => one === undefined);
  if (!isDefault)
    complain(
      ['rules', rules.length - 1],
      'the last rule must be named `default`, without tools, agents and when',
    );
}

function covers(first: Matching, later: Matching) {
  const isWithin = (all: readonly string[] | undefined, some: readonly string[] | undefined) =>
    all === undefined || (some !== undefined && some.every((one) => all.includes(one)));
  if (first.when !== undefined && first.when !== later.when) return false;
  return isWithin(first.tools, later.tools) && isWithin(first.agents, later.agents);
}
