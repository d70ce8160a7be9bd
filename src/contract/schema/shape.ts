import type { Json, JsonObject } from '../json';

const OF = /* @__PURE__ */ Symbol('the type of a shape');

/** A JSON Schema, and the type of the values that fit it. `shape` joins the two. */
export interface Shape<T> extends JsonObject {
  readonly [OF]: () => T;
}

/** The type of the values that fit a shape. */
export type Of<S> = S extends Shape<infer T> ? T : never;

export type Fields = Readonly<Record<string, Shape<unknown>>>;
type Flat<T> = { [K in keyof T]: T[K] };
type ObjectOf<R extends Fields, O extends Fields> = Flat<
  { -readonly [K in keyof R]: Of<R[K]> } & { -readonly [K in keyof O]?: Of<O[K]> }
>;

/** Nobody calls it: it only carries a type. */
const none = (): never => {
  throw new Error('a shape holds no value');
};

/** The shape of an object. It says which fields there are. */
export interface ObjectShape<R extends Fields, O extends Fields> extends Shape<ObjectOf<R, O>> {
  properties: R & O;
  required: string[];
}

/** Joins a schema and a type. Only for code that derives the one from the other. */
function shape<T>(schema: JsonObject): Shape<T> {
  return { ...schema, [OF]: none };
}

/** A shape whose values have to fit more of JSON Schema, which does not change their type. */
export function refined<T>(of: Shape<T>, more: JsonObject): Shape<T> {
  return { ...of, ...more };
}

export function text(more: JsonObject = {}): Shape<string> {
  return shape({ type: 'string', ...more });
}

export function number(more: JsonObject = {}): Shape<number> {
  return shape({ type: 'number', ...more });
}

/** A whole number. */
export function integer(more: JsonObject = {}): Shape<number> {
  return shape({ type: 'integer', ...more });
}

export function flag(): Shape<boolean> {
  return shape({ type: 'boolean' });
}

/** This value alone. */
export function only<const V extends boolean>(value: V): Shape<V> {
  return shape({ const: value });
}

export function oneOf<const W extends string>(words: readonly W[]): Shape<W> {
  return shape({ enum: [...words] });
}

export function nullable<T>(of: Shape<T>): Shape<T | null> {
  return shape({ anyOf: [of, { type: 'null' }] });
}

/** Any value of JSON. */
export function json(): Shape<Json> {
  return shape({});
}

/** Any value. Nothing is known of it. */
export function anything(): Shape<unknown> {
  return shape({});
}

export function jsonObject(): Shape<JsonObject> {
  return shape({ type: 'object' });
}

export function list<T>(items: Shape<T>, more: JsonObject = {}): Shape<T[]> {
  return shape({ type: 'array', items, ...more });
}

/** A list that nobody changes. */
export function fixed<T>(items: Shape<T>, more: JsonObject = {}): Shape<readonly T[]> {
  return list(items, more);
}

/** An object whose fields have any names. */
export function record<T>(fields: Shape<T>, more: JsonObject = {}): Shape<Record<string, T>> {
  return shape({ type: 'object', additionalProperties: fields, ...more });
}

/** An object with these fields. It may have others, which nobody reads. */
export function object<R extends Fields, O extends Fields = Record<never, never>>(
  required: R,
  optional?: O,
): Shape<ObjectOf<R, O>> {
  const properties: Record<string, Shape<unknown>> = { ...required, ...optional };
  return shape({ type: 'object', properties, required: Object.keys(required) });
}

/** An object with these fields and no others, such as a message that anybody may send. */
export function exact<R extends Fields>(required: R): ObjectShape<R, Record<never, never>>;
export function exact<R extends Fields, O extends Fields>(required: R, optional: O): ObjectShape<R, O>;
export function exact(required: Fields, optional: Fields = {}): ObjectShape<Fields, Fields> {
  const fields = { properties: both(required, optional), required: Object.keys(required) };
  return { ...object(required, optional), ...fields, additionalProperties: false };
}

/** The same object, which may have more fields. */
export function withFields<R extends Fields, O extends Fields, M extends Fields>(
  of: ObjectShape<R, O>,
  more: M,
): ObjectShape<R, O & M> {
  return { ...of, [OF]: none, properties: { ...of.properties, ...more } };
}

/** The fields of both. The page drops a shape that it does not use, and with a spread it could not tell. */
export function both<A extends Fields, B extends Fields>(one: A, other: B): A & B {
  return { ...one, ...other };
}

/** A value that fits one of these shapes. */
export function either<S extends readonly Shape<unknown>[]>(...shapes: S): Shape<Of<S[number]>> {
  return shape({ anyOf: [...shapes] });
}

/** Objects that one of their fields tells apart. Each shape names in this field the words for which it holds. */
export function byField<S extends readonly (readonly [words: readonly string[], of: Shape<unknown>])[]>(
  field: string,
  ...cases: S
): Shape<Of<S[number][1]>> {
  return shape({
    type: 'object',
    properties: { [field]: { enum: cases.flatMap(([words]) => words) } },
    required: [field],
    allOf: cases.map(([words, of]) => ({ if: { properties: { [field]: { enum: [...words] } } }, then: of })),
  });
}

/** A list of two. */
export function pair<A, B>(first: Shape<A>, second: Shape<B>): Shape<[A, B]> {
  return shape({ type: 'array', minItems: 2, maxItems: 2, prefixItems: [first, second] });
}
