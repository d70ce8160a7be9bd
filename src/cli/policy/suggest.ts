import { stringify } from 'yaml';
import { type RuleCondition, conditionArguments, readCondition } from '../../authority/condition';
import type { PolicyRule } from '../../contract/authority/policy';
import { digestJson } from '../../contract/digest';
import { isObject, type Json } from '../../contract/json';
import type { JsonSchema } from '../../contract/tool';
import type { PastCall } from './past';

/** A rule to paste, and the past calls that support it. */
export interface Suggestion {
  rule: PolicyRule;
  /** The rule as an entry of a list in YAML. */
  yaml: string;
  /** The number of calls that the rule would have let run. Each of these calls was approved unchanged and succeeded. */
  covers: number;
  /** The number of calls of the tool about which a person was asked. */
  of: number;
  /** The people who approved these calls, by the names on record. */
  people: string[];
  /** The times when the first and the last of these calls were asked for, in ISO 8601. */
  first: string;
  last: string;
  /** Arguments that may be anything. */
  free: string[];
}

/** The options of suggestions. */
export interface SuggestOptions {
  /** The least number of calls that must support a rule. */
  least: number;
  /** The last day of the rules. */
  until: string;
}

/** The most suggestions for one tool. */
const MOST_OF_TOOL = 5;
/** The most values that a rule lists for one argument. */
const MOST_VALUES = 5;
/** The most groups of calls that are looked at for one tool. */
const MOST_GROUPS = 200;

/**
 * Rules that would have let calls run that people always approved unchanged. For each tool the narrowest rule comes
 * first. A rule is left out if it also fits a call that was denied, edited, failed, in doubt or refused.
 */
export function suggestRules(calls: readonly PastCall[], options: SuggestOptions): Suggestion[] {
  const groups = groupedBy(calls, ({ agent, tool }) => JSON.stringify([agent, tool]));
  return [...groups.values()].flatMap((group) => ofTool(group, options));
}

function groupedBy(
  calls: readonly PastCall[],
  keyOf: (call: PastCall) => string,
): ReadonlyMap<string, PastCall[]> {
  const groups = new Map<string, PastCall[]>();
  for (const call of calls) addTo(groups, keyOf(call), call);
  return groups;
}

function addTo(groups: Map<string, PastCall[]>, key: string, call: PastCall): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [call]);
  else group.push(call);
}

function ofTool(calls: readonly PastCall[], { least, until }: SuggestOptions): Suggestion[] {
  const clean = calls.filter(isEligible);
  const found = new Map<string, Unnamed>();
  for (const group of groupsOf(clean, least)) {
    const pattern = patternOf(group);
    if (pattern === undefined || found.has(pattern.when)) continue;
    const covered = coveredBy(pattern.when, calls);
    const isSafe = covered !== undefined && covered.every(({ ending }) => ending !== 'spoiled');
    const kept = isSafe ? covered.filter(isEligible) : [];
    // A rule that does not cover the calls that it was made from was not understood correctly.
    if (kept.length >= Math.max(least, group.length))
      found.set(pattern.when, suggestion(pattern, kept, { calls, until }));
  }
  const widest = [...found.values()].sort((a, b) => b.covers - a.covers).slice(0, MOST_OF_TOOL);
  return widest.reverse().map((one, at) => named(one, at));
}

/**
 * Whether a call can support a rule: only if the tool's safety was the reason to ask. No rule can loosen a function
 * policy or the approvers file.
 */
function isEligible({ ending, request }: PastCall): boolean {
  if (ending !== 'clean' || request === undefined) return false;
  const { safety, policyReason, authority, noBatch } = request;
  return safety === 'dangerous' && policyReason === undefined && authority === undefined && noBatch !== true;
}

/** Groups of similar calls: calls with the same arguments, then calls with one value in common, then all calls. */
function groupsOf(calls: readonly PastCall[], least: number): PastCall[][] {
  const exact = groupedBy(calls, ({ args }) => digestJson(args));
  const shared = new Map<string, PastCall[]>();
  for (const call of calls)
    for (const [field, value] of Object.entries(call.args))
      if (typeof value !== 'object') addTo(shared, JSON.stringify([field, value]), call);
  const all = [...exact.values(), ...shared.values()].filter((group) => group.length >= least);
  const groups = all.sort((a, b) => b.length - a.length).slice(0, MOST_GROUPS);
  return calls.length >= least ? [...groups, [...calls]] : groups;
}

function coveredBy(when: string, calls: readonly PastCall[]): PastCall[] | undefined {
  const read = readCondition(when, ['args']);
  return read.ok ? calls.filter((call) => fits(read.condition, call)) : undefined;
}

/**
 * Whether a condition covers a call, evaluated as for the real rule. A condition that cannot be evaluated would refuse
 * the call, so it does not cover the call.
 */
function fits(condition: RuleCondition, { args, request }: PastCall): boolean {
  return condition.evaluate({ args: conditionArguments(args, request?.schema) }) === true;
}

type Unnamed = Omit<Suggestion, 'yaml'>;

function suggestion(
  { when, free }: Pattern,
  kept: readonly PastCall[],
  { calls, until }: { calls: readonly PastCall[]; until: string },
): Unnamed {
  const [{ tool, agent } = { tool: '', agent: '' }] = kept;
  const times = kept.map(({ at }) => at).sort();
  return {
    rule: { name: tool, tools: [tool], agents: [agent], when, then: 'run', until },
    covers: kept.length,
    of: calls.filter(({ was }) => was === 'ask').length,
    people: [...new Set(kept.flatMap(({ approvers }) => approvers))].sort(),
    first: times.at(0) ?? '',
    last: times.at(-1) ?? '',
    free: [...free],
  };
}

function named(one: Unnamed, at: number): Suggestion {
  const name = `${one.rule.name.slice(0, 60)} as approved${at === 0 ? '' : ` ${at + 1}`}`;
  const rule = { ...one.rule, name };
  return { ...one, rule, yaml: stringify([rule], { lineWidth: 0 }).trimEnd() };
}

/** A condition that calls have in common, and the arguments that it leaves open. */
interface Pattern {
  when: string;
  free: readonly string[];
}

/** Arguments with code or commands. A rule allows only their exact values. */
const ONLY_EQUAL = /(command|cmd|script|code|sql|query|form|expression|args|argv)$/i;
const PATH = /(path|file|folder|directory|dir)$/i;
/** Arguments with text for people. A rule allows any value. */
const PROSE = /(text|body|message|content|subject|title|note|reason|description|comment|summary)$/i;
/** Order numbers and similar ids, but not paths, addresses or sentences. */
const PLAIN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** The condition that the calls have in common. Undefined if this condition would not be narrow. */
function patternOf(calls: readonly PastCall[]): Pattern | undefined {
  const fields = [...new Set(calls.flatMap(({ args }) => Object.keys(args)))].sort();
  const parts: string[] = [];
  const free: string[] = [];
  for (const field of fields) {
    const values = calls.flatMap(({ args }) => (Object.hasOwn(args, field) ? [args[field] ?? null] : []));
    const part = partOf(field, values);
    if (part === undefined) return undefined;
    if (part.isFree) free.push(field);
    const { text } = part;
    if (text !== undefined)
      parts.push(values.length < calls.length ? `(!${isThere(field)} || ${text})` : text);
  }
  if (free.length === fields.length) return undefined;
  return { when: [...parts, ...closing(fields, calls[0]?.request?.schema)].join(' && '), free };
}

/** The condition parts that forbid arguments which none of the calls had. */
function closing(fields: readonly string[], schema: JsonSchema | undefined): string[] {
  const { properties, additionalProperties } = schema ?? {};
  if (!isObject(properties) || additionalProperties !== false)
    return [`args.all(name, name in [${fields.map(literal).join(', ')}])`];
  const others = Object.keys(properties).filter((name) => !fields.includes(name));
  return others.map((name) => `!${isThere(name)}`);
}

/** The part of a condition about one argument. `isFree`: the argument may be anything that `text` allows. */
interface Part {
  text?: string;
  isFree?: true;
}

/**
 * The condition part that fits all values of an argument. Undefined if the values have too little in common for a rule.
 */
function partOf(field: string, values: readonly Json[]): Part | undefined {
  const distinct = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  const [first] = distinct;
  if (first === undefined) return undefined;
  if (distinct.length === 1) return { text: `${valueOf(field)} == ${literal(first)}` };
  if (ONLY_EQUAL.test(field) || distinct.some((value) => typeof value === 'object')) return undefined;
  const numbers = distinct.filter((value) => typeof value === 'number');
  if (numbers.length === distinct.length) {
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    return { text: `${valueOf(field)} >= ${literal(least)} && ${valueOf(field)} <= ${literal(most)}` };
  }
  if (distinct.length <= MOST_VALUES)
    return { text: `${valueOf(field)} in [${distinct.map(literal).join(', ')}]` };
  const texts = distinct.filter((value) => typeof value === 'string');
  if (texts.length < distinct.length) return undefined;
  if (PATH.test(field)) return inFolder(field, texts);
  if (PROSE.test(field)) return { isFree: true };
  if (!texts.every((text) => PLAIN_ID.test(text))) return undefined;
  const longest = Math.max(...texts.map(({ length }) => length));
  return { text: `${valueOf(field)}.matches("^[A-Za-z0-9_-]{1,${longest}}$")`, isFree: true };
}

/** The condition part for paths in one folder. It excludes `..` and `\`, which could lead out of the folder. */
function inFolder(field: string, paths: readonly string[]): Part | undefined {
  const [first = ''] = paths;
  let length = 0;
  while (length < first.length && paths.every((path) => path[length] === first[length])) length += 1;
  const folder = first.slice(0, first.lastIndexOf('/', length - 1) + 1);
  if (folder === '' || folder === '/') return undefined;
  const value = valueOf(field);
  const text = `${value}.startsWith(${literal(folder)}) && !${value}.contains("..") && !${value}.contains("\\\\")`;
  return { text };
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const RESERVED = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
);

function isName(field: string): boolean {
  return NAME.test(field) && !RESERVED.has(field);
}

function valueOf(field: string): string {
  return isName(field) ? `args.${field}` : `args[${literal(field)}]`;
}

function isThere(field: string): string {
  return isName(field) ? `has(args.${field})` : `(${literal(field)} in args)`;
}

/** A value as a CEL literal, which has the form of JSON. Characters that are not visible are written as escapes. */
function literal(value: Json): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e\p{L}\p{N}]/gu, (one) => {
    const code = one.codePointAt(0) ?? 0;
    return code > 0xffff
      ? `\\U${code.toString(16).padStart(8, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
