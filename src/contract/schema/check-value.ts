import { namesOfFields, isObject, type JsonObject, pointerOf } from '../json';
import type { Issue } from '../tool';
import { assertValue } from './values';
import { compilePattern } from './pattern';
import { isOwnResource, isSchema, References } from './reference';

/** The most issues that are reported. Nobody corrects more at the same time. */
const MOST_ISSUES = 20;

/**
 * Where a check is in the value. Without `issues`, the reasons are not collected, and the first fault ends the check.
 */
interface ValuePlace {
  readonly depth: number;
  readonly issues: Issue[] | undefined;
  /**
   * The place of the object or list that this value is a part of. Undefined at the root. The path is put together only
   * for an issue.
   */
  readonly parent: ValuePlace | undefined;
  readonly part: string | number;
}

/** The same place for a check that collects no reasons. */
function silently({ depth, parent, part }: ValuePlace): ValuePlace {
  return { depth, issues: undefined, parent, part };
}

function pathOf(place: ValuePlace): string {
  if (place.parent === undefined) return '';
  return pathOf(place.parent) + pointerOf([place.part]);
}

/** The properties and items, by name or index, that a keyword has checked. */
type Evaluated = Iterable<string | number>;

/** The result of one schema's keywords for one value. */
class CheckResult {
  private fits = true;
  private own: Set<string | number> | undefined;

  /** `keeps`: whether a keyword will ask which parts of the value were checked. */
  constructor(
    readonly at: ValuePlace,
    private readonly keeps: boolean,
  ) {}

  /** If the value fits: the parts that were checked. Undefined if the value does not fit. */
  get outcome(): Evaluated | undefined {
    return this.fits ? (this.own ?? []) : undefined;
  }

  /** Whether a keyword has checked a property or an item. */
  hasSeen(part: string | number): boolean {
    return this.own?.has(part) === true;
  }

  /** Whether a further check could not change the result. */
  get isOver(): boolean {
    return !this.fits && (this.at.issues === undefined || this.at.issues.length >= MOST_ISSUES);
  }

  /**
   * Notes that the value does not fit. `message` is written only if somebody reads it. `more`: the issues of the
   * branches.
   */
  fail(message: string | (() => string), more: readonly Issue[] = []): void {
    this.fits = false;
    const { issues } = this.at;
    if (issues === undefined || issues.length >= MOST_ISSUES) return;
    const room = MOST_ISSUES - issues.length;
    const own = { path: pathOf(this.at), message: typeof message === 'string' ? message : message() };
    issues.push(...[own, ...more].slice(0, room));
  }

  /** Takes over the result of another schema for the same value. The issues of that schema are reported already. */
  take(outcome: Evaluated | undefined): void {
    if (outcome === undefined) this.fits = false;
    else for (const part of outcome) this.see(part);
  }

  /** Takes over the result of a schema for a property or an item. */
  takePart(part: string | number, fits: boolean): void {
    if (!fits) this.fits = false;
    if (this.keeps) this.see(part);
  }

  /** Marks a property or an item as checked. */
  see(part: string | number): void {
    this.own ??= new Set();
    this.own.add(part);
  }

  /** The place of a property or an item. */
  below(part: string | number): ValuePlace {
    return { depth: this.at.depth, issues: this.at.issues, parent: this.at, part };
  }
}

/**
 * The most work of one check: the number of schemas applied to values, and texts by their length. This takes some 50
 * ms. Only a schema whose branches multiply reaches this limit. An honest schema does not, with arguments within their
 * size limits.
 */
const MOST_WORK = 150_000;

/** How deep a check may go. Without this limit, the check of a reference that leads to itself would never end. */
const MOST_DEPTH = 400;

// In the sandbox of workflows every use of a global is slow, and these are used for every part of a value.
const { isArray } = Array;
const { hasOwn } = Object;

/** Thrown if a check is given up because it would take too much work. */
class TooMuchWork extends Error {}

/** Facts about a schema that are worked out once, not again for each value. */
interface Facts {
  /** The other schemas that the schema names for the same value. Undefined: none. */
  branches: Branches | undefined;
  /** The properties that need others, and what they need. */
  dependencies: [string, unknown][];
  patterns: { matches: (text: string) => boolean; schema: unknown }[];
}

/** The keywords that combine schemas for the same value. */
interface Branches {
  references: { keyword: string; name: string }[];
  allOf: readonly unknown[];
  anyOf: readonly unknown[];
  oneOf: readonly unknown[];
}

const REFERENCES = ['$ref', '$dynamicRef'];
const DEPENDENCIES = ['dependentRequired', 'dependentSchemas', 'dependencies'];
const BRANCHES = [...REFERENCES, '$recursiveRef', 'allOf', 'anyOf', 'oneOf', 'not', 'if'];

const NO_BRANCH = 'Instance does not match any subschemas.';

/** Checks values against one schema (JSON Schema 2020-12). It keeps the schema, which must not change. */
export class SchemaChecker {
  private work = 0;
  private readonly patterns = new Map<string, (text: string) => boolean>();
  private readonly facts = new Map<JsonObject, Facts>();
  /** Whether any keyword asks which parts of a value other keywords have checked. */
  private readonly keeps: boolean;
  /** Whether references mean something else in some parts of the schema than in others. */
  private readonly isNested: boolean;
  /** The resources that the check has entered, the outermost first. Kept only if `isNested`. */
  private scope: References['outer'][] = [];
  private references: References | undefined;
  /** Whether nobody asks why a value does not fit, nor which parts were checked: the first branch that fits is enough. */
  private isQuick = false;

  constructor(private readonly root: JsonObject) {
    const text = JSON.stringify(root);
    this.keeps = text.includes('"unevaluated');
    this.isNested = /"\$(?:id|dynamicRef)"/.test(text);
  }

  /**
   * The work of the last check. A workflow uses it to decide when to pause its work, so the same value must always give
   * the same count.
   */
  get done(): number {
    return this.work;
  }

  /** The issues of a value, at most 20. Empty: the value fits. Throws if the schema cannot be followed. */
  issuesOf(value: unknown): Issue[] {
    this.begin(false);
    const issues: Issue[] = [];
    const fits = this.check(this.root, value, { depth: 0, issues, parent: undefined, part: '' });
    if (fits !== undefined) return [];
    return issues.length > 0 ? issues : [{ path: '', message: 'does not fit the schema' }];
  }

  /**
   * Whether a value fits. Quicker than `issuesOf`, because the first fault ends it. Throws the errors of `issuesOf`.
   */
  fits(value: unknown): boolean {
    return this.fitsPart(this.root, value);
  }

  /** Whether a value fits a schema that stands inside the root. Throws the errors of `issuesOf`. */
  fitsPart(schema: unknown, value: unknown): boolean {
    this.begin(!this.keeps);
    const owner = this.isNested && isSchema(schema) ? this.known().ownerOf(schema) : undefined;
    if (owner !== undefined) this.scope.push(owner);
    return (
      this.check(schema, value, { depth: 0, issues: undefined, parent: undefined, part: '' }) !== undefined
    );
  }

  private begin(isQuick: boolean) {
    this.work = 0;
    this.isQuick = isQuick;
    this.scope = this.isNested ? [this.known().outer] : [];
  }

  private known(): References {
    return (this.references ??= new References(this.root));
  }

  private check(schema: unknown, value: unknown, at: ValuePlace): Evaluated | undefined {
    this.spend(typeof value === 'string' ? 1 + value.length / 64 : 1);
    const { issues, parent, part } = at;
    const result = new CheckResult({ depth: at.depth + 1, issues, parent, part }, this.keeps);
    if (at.depth > MOST_DEPTH) throw new TooMuchWork('the schema is nested without end');
    if (schema === false) result.fail('is not a known property');
    if (!isSchema(schema)) return result.outcome;
    const isEntered = this.isNested && this.enter(schema);
    const outcome = this.checkKeywords(schema, value, result);
    if (isEntered) this.scope.pop();
    return outcome;
  }

  private checkKeywords(schema: JsonObject, value: unknown, result: CheckResult): Evaluated | undefined {
    assertValue({ schema, value, result, pattern: this.pattern, spend: this.spend });
    if (isArray(schema['enum'])) this.spend(schema['enum'].length / 64);
    const { branches } = this.factsOf(schema);
    if (branches !== undefined && !result.isOver) this.checkBranches({ schema, branches }, value, result);
    if (result.isOver) return undefined;
    if (isArray(value)) this.checkItems(schema, value, result);
    else if (isObject(value)) this.checkProperties(schema, value, result);
    return result.outcome;
  }

  private factsOf(schema: JsonObject): Facts {
    const known = this.facts.get(schema);
    if (known !== undefined) return known;
    const patterns = Object.entries(objectOf(schema['patternProperties'])).map(([source, sub]) => ({
      matches: this.pattern(source),
      schema: sub,
    }));
    const dependencies = DEPENDENCIES.flatMap((keyword) => Object.entries(objectOf(schema[keyword])));
    const branches = BRANCHES.some((key) => schema[key] !== undefined) ? branchesOf(schema) : undefined;
    const facts = { branches, dependencies, patterns };
    this.facts.set(schema, facts);
    return facts;
  }

  /** Checks references, and keywords that combine schemas for the same value. */
  private checkBranches(
    { schema, branches }: { schema: JsonObject; branches: Branches },
    value: unknown,
    result: CheckResult,
  ) {
    const { at } = result;
    for (const one of branches.references) this.checkReference(one, value, result);
    for (const one of branches.allOf) result.take(this.check(one, value, at));
    this.checkAnyOf(branches.anyOf, value, result);
    this.checkOneOf(branches.oneOf, value, result);
    const silent = silently(at);
    if (schema['not'] !== undefined && this.check(schema['not'], value, silent) !== undefined)
      result.fail('Instance matched "not" schema.');
    if (schema['if'] === undefined) return;
    const condition = this.check(schema['if'], value, silent);
    if (condition !== undefined) result.take(condition);
    const next = schema[condition === undefined ? 'else' : 'then'];
    if (next !== undefined) result.take(this.check(next, value, at));
  }

  /** Reports the issues of the branches only if none of the branches fits. */
  private checkAnyOf(branches: readonly unknown[], value: unknown, result: CheckResult) {
    if (branches.length === 0) return;
    const fits = (one: unknown) => this.check(one, value, result.at) !== undefined;
    if (this.isQuick) return branches.some(fits) ? undefined : result.fail(NO_BRANCH);
    const { count, issues } = this.takeFitting(branches, value, result);
    if (count === 0) result.fail(NO_BRANCH, issues);
  }

  private checkOneOf(branches: readonly unknown[], value: unknown, result: CheckResult) {
    if (branches.length === 0) return;
    const { count, issues } = this.takeFitting(branches, value, result);
    if (count === 1) return;
    const why = `Instance does not match exactly one subschema (${count} matches).`;
    result.fail(why, count === 0 ? issues : undefined);
  }

  /** Takes each branch that fits. Returns how many do, and the issues of the others. */
  private takeFitting(branches: readonly unknown[], value: unknown, result: CheckResult) {
    const issues = result.at.issues && [];
    const fitting = branches
      .map((one) => this.check(one, value, { ...result.at, issues }))
      .filter((outcome) => outcome !== undefined);
    for (const one of fitting) result.take(one);
    return { count: fitting.length, issues };
  }

  private checkProperties(schema: JsonObject, value: Record<string, unknown>, result: CheckResult) {
    for (const name of listOf(schema['required'])) {
      if (typeof name === 'string' && !hasField(value, name))
        result.fail(`Instance does not have required property "${name}".`);
    }
    const { dependencies, patterns } = this.factsOf(schema);
    this.checkDependencies(dependencies, value, result);
    const properties = objectOf(schema['properties']);
    const { additionalProperties: others, unevaluatedProperties: rest, propertyNames } = schema;
    const names = namesOfFields(value);
    for (const key of names) {
      if (result.isOver) return;
      if (propertyNames !== undefined) this.checkName(propertyNames, key, result);
      let isKnown = hasOwn(properties, key);
      if (isKnown) this.checkPart(properties[key], key, { item: value[key], result });
      for (const { matches, schema: sub } of patterns) {
        this.spend(1);
        if (!matches(key)) continue;
        isKnown = true;
        this.checkPart(sub, key, { item: value[key], result });
      }
      if (!isKnown && others !== undefined) this.checkPart(others, key, { item: value[key], result });
    }
    if (rest === undefined) return;
    for (const key of names) {
      if (!result.hasSeen(key)) this.checkPart(rest, key, { item: value[key], result });
    }
  }

  private checkPart(
    schema: unknown,
    part: string | number,
    { item, result }: { item: unknown; result: CheckResult },
  ) {
    result.takePart(part, this.check(schema, item, result.below(part)) !== undefined);
  }

  private checkName(schema: unknown, key: string, result: CheckResult) {
    if (this.check(schema, key, silently(result.at)) !== undefined) return;
    result.fail(`Property name "${key.slice(0, 100)}" does not match schema.`);
  }

  private checkDependencies(
    dependencies: Facts['dependencies'],
    value: Record<string, unknown>,
    result: CheckResult,
  ) {
    for (const [key, needed] of dependencies) {
      if (!hasField(value, key)) continue;
      if (!isArray(needed)) result.take(this.check(needed, value, result.at));
      for (const name of listOf(needed)) {
        if (typeof name !== 'string' || hasField(value, name)) continue;
        result.fail(`Instance has "${key}" but does not have "${name}".`);
      }
    }
  }

  private checkItems(schema: JsonObject, list: readonly unknown[], result: CheckResult) {
    // Before 2020-12, `items` meant what `prefixItems` means now, and `additionalItems` what `items` means now.
    const isOld = isArray(schema['items']);
    const first = listOf(schema[isOld ? 'items' : 'prefixItems']);
    const rest = schema[isOld ? 'additionalItems' : 'items'];
    for (const [index, item] of list.entries()) {
      if (result.isOver) return;
      const sub = index < first.length ? first[index] : rest;
      if (sub === undefined) break;
      this.checkPart(sub, index, { item, result });
    }
    if (schema['contains'] !== undefined) this.checkContains(schema, list, result);
    const { unevaluatedItems: others } = schema;
    if (others === undefined) return;
    for (const [index, item] of list.entries()) {
      if (result.hasSeen(index)) continue;
      this.checkPart(others, index, { item, result });
    }
  }

  private checkContains(schema: JsonObject, list: readonly unknown[], result: CheckResult) {
    const { minContains: least = 1, maxContains: most } = schema;
    const silent = silently(result.at);
    const found = [...list.keys()].filter(
      (at) => this.check(schema['contains'], list[at], silent) !== undefined,
    );
    for (const index of found) result.see(index);
    if (typeof least === 'number' && found.length < least)
      result.fail(
        `Array must contain at least ${least} items matching schema. Only ${found.length} items were found.`,
      );
    if (typeof most === 'number' && found.length > most)
      result.fail(
        `Array may contain at most ${most} items matching schema. ${found.length} items were found.`,
      );
  }

  private readonly pattern = (source: string) => {
    const known = this.patterns.get(source);
    if (known !== undefined) return known;
    const matcher = compilePattern(source);
    const compiled = (text: string) => matcher(text, (work) => this.spend(work / 64));
    this.patterns.set(source, compiled);
    return compiled;
  };

  /** Enters the resource of a schema, if the schema begins one. */
  private enter(schema: JsonObject) {
    const owner = isOwnResource(schema) ? this.known().ownerOf(schema) : undefined;
    if (owner === undefined || owner === this.scope.at(-1)) return false;
    this.scope.push(owner);
    return true;
  }

  private checkReference(
    { keyword, name }: Branches['references'][number],
    value: unknown,
    result: CheckResult,
  ) {
    const found = this.known().find(name, this.scope.at(-1));
    if (found === undefined) throw new Error(`Unresolved ${keyword} "${name}".`);
    const { schema, resource } = keyword === '$dynamicRef' ? this.outermost(name, found) : found;
    if (this.isNested) this.scope.push(resource);
    result.take(this.check(schema, value, result.at));
    if (this.isNested) this.scope.pop();
  }

  /** Where a dynamic reference leads: to the anchor of that name in the outermost resource that has one. */
  private outermost(reference: string, found: NonNullable<ReturnType<References['find']>>) {
    const name = reference.slice(reference.indexOf('#') + 1);
    if (!isSchema(found.schema) || found.schema['$dynamicAnchor'] !== name) return found;
    for (const resource of this.scope) {
      const schema = resource.dynamic.get(name);
      if (schema !== undefined) return { schema, resource };
    }
    return found;
  }

  private readonly spend = (work: number) => {
    this.work += work;
    if (this.work > MOST_WORK) throw new TooMuchWork('it takes too long to check');
  };
}

function branchesOf(schema: JsonObject): Branches {
  const [allOf, anyOf, oneOf] = [schema['allOf'], schema['anyOf'], schema['oneOf']].map(listOf);
  if (schema['$recursiveRef'] !== undefined) throw new Error('$recursiveRef cannot be followed.');
  const references = REFERENCES.flatMap((keyword) => {
    const name = schema[keyword];
    return typeof name === 'string' ? [{ keyword, name }] : [];
  });
  return { references, allOf: allOf ?? [], anyOf: anyOf ?? [], oneOf: oneOf ?? [] };
}

function listOf(value: unknown): readonly unknown[] {
  return isArray(value) ? value : [];
}

function objectOf(value: unknown) {
  return isObject(value) ? value : {};
}

/** Whether an object has a field. JSON leaves out a field that is undefined. */
function hasField(value: Record<string, unknown>, name: string) {
  return hasOwn(value, name) && value[name] !== undefined;
}
