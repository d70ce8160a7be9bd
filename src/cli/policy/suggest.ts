import { stringify } from 'yaml';
import { type Condition, conditionArguments, readCondition } from '../../authority/condition';
import type { PolicyRule } from '../../contract/authority/policy';
import { digestJson } from '../../contract/digest';
import { isObject, type Json } from '../../contract/json';
import type { JsonSchema } from '../../contract/tool';
import type { PastCall } from './past';

/** A rule to paste, and what speaks for it. */
export interface Suggestion {
  rule: PolicyRule;
  /** The rule as an entry of a list in YAML. */
  yaml: string;
  /** Calls that it would have let run: each was approved as it was, and succeeded. */
  covers: number;
  /** Calls of the tool that a person was asked about. */
  of: number;
  /** Who approved them, by the names on record. */
  people: string[];
  /** When the first and the last of them were asked for; ISO 8601. */
  first: string;
  last: string;
  /** Arguments that may be anything. */
  free: string[];
}

/** What is suggested. */
export interface SuggestOptions {
  /** So many calls have to speak for a rule. */
  least: number;
  /** The last day of the rules. */
  until: string;
}

/** Of one tool at most so many. */
const MOST_OF_TOOL = 5;
/** A set of values is written out up to so many. */
const MOST_VALUES = 5;
/** Groups of calls that are looked at for one tool. */
const MOST_GROUPS = 200;

/**
 * Rules that would have let calls run that people always approved as they were; of each tool the narrowest first. A rule
 * that fits any call that was denied, edited, failed, in doubt or refused is not among them.
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
    // What does not cover the calls that it was made from was not understood.
    if (kept.length >= Math.max(least, group.length))
      found.set(pattern.when, suggestion(pattern, kept, { calls, until }));
  }
  const widest = [...found.values()].sort((a, b) => b.covers - a.covers).slice(0, MOST_OF_TOOL);
  return widest.reverse().map((one, at) => named(one, at));
}

/** Only what safety asked about: no rule loosens what a function or the approvers file asks about. */
function isEligible({ ending, request }: PastCall): boolean {
  if (ending !== 'clean' || request === undefined) return false;
  const { safety, policyReason, authority, noBatch } = request;
  return safety === 'dangerous' && policyReason === undefined && authority === undefined && noBatch !== true;
}

/** Calls that are alike: the same arguments, then one value in common, then all. */
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

/** As the rule will be asked: one that cannot be worked out would refuse, so it does not cover. */
function fits(condition: Condition, { args, request }: PastCall): boolean {
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

/** Code and commands are allowed as they are or not at all. */
const ONLY_EQUAL = /(command|cmd|script|code|sql|query|form|expression|args|argv)$/i;
const PATH = /(path|file|folder|directory|dir)$/i;
/** What a person reads may be anything. */
const PROSE = /(text|body|message|content|subject|title|note|reason|description|comment|summary)$/i;
/** Order numbers and the like; no path, address or sentence. */
const PLAIN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Undefined where nothing narrow can be said of them. */
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

/** Arguments that none of the calls had are not allowed. */
function closing(fields: readonly string[], schema: JsonSchema | undefined): string[] {
  const { properties, additionalProperties } = schema ?? {};
  if (!isObject(properties) || additionalProperties !== false)
    return [`args.all(name, name in [${fields.map(literal).join(', ')}])`];
  const others = Object.keys(properties).filter((name) => !fields.includes(name));
  return others.map((name) => `!${isThere(name)}`);
}

/** What is asked of an argument; free: as far as that goes, it may be anything. */
interface Part {
  text?: string;
  isFree?: true;
}

/** What the values of an argument have in common; undefined where that is too little. */
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

/** A path goes nowhere else by `..` or `\`. */
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

/** A value in CEL, which reads JSON as it is. What does not show by itself is written by its number. */
function literal(value: Json): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e\p{L}\p{N}]/gu, (one) => {
    const code = one.codePointAt(0) ?? 0;
    return code > 0xffff
      ? `\\U${code.toString(16).padStart(8, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
