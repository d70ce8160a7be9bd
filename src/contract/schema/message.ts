import { isObject, isSoundJson } from '../json';
import { JSON_LEVELS } from '../limits';
import { schemaCheck, schemaFit } from './schema';
import type { Fields, Of, Shape } from './shape';
import type { Issue, JsonSchema } from '../tool';

/**
 * `schemaCheck` for values from any sender. A value on which later code could fail does not fit either. The check never
 * throws.
 */
export function soundCheck(schema: JsonSchema): (value: unknown) => Issue[] {
  const check = schemaCheck(schema);
  return (value) => (isSoundJson(value) ? check(value) : [unsound()]);
}

/** Makes a guard that says whether a value fits a shape, and is JSON that all our code can take. It never throws. */
export function guard<T>(shape: Shape<T>): (value: unknown) => value is T {
  const fits = schemaFit(shape);
  // Most memos lack most fields, and a check that throws for what is not JSON is slow.
  return (value): value is T => value !== undefined && isSoundJson(value) && fits(value);
}

function unsound(): Issue {
  const message = `it has a number that JSON cannot write, a key __proto__, or more than ${JSON_LEVELS} levels`;
  return { path: '', message };
}

/**
 * Makes a reader that keeps the readable fields of any value. Fields that do not fit are left out. The reader never
 * throws.
 */
export function partReader<S extends Shape<object> & { properties: Fields }>(
  schema: S,
): (value: unknown) => Partial<Of<S>> {
  const check = soundCheck({ ...schema, required: [] });
  const fits = (value: unknown): value is Partial<Of<S>> => check(value).length === 0;
  const names = Object.keys(schema.properties);
  return (value) => {
    if (!isObject(value)) return {};
    const there = names.filter((name) => Object.hasOwn(value, name));
    const part = Object.fromEntries(
      there.map((name) => [name, value[name]]).filter((field) => fits(Object.fromEntries([field]))),
    );
    return fits(part) ? part : {};
  };
}
