/**
 * Whether the field K is left out if its value is undefined. A field of type `unknown` is kept, and so are the
 * fields of an index signature.
 */
type Optional<K, V> = unknown extends V
  ? false
  : string extends K
    ? false
    : undefined extends V
      ? true
      : false;

/** The same fields. The fields that may be undefined are optional. */
type Defined<T> = {
  [K in keyof T as Optional<K, T[K]> extends true ? never : K]: string extends K
    ? Exclude<T[K], undefined>
    : T[K];
} & {
  [K in keyof T as Optional<K, T[K]> extends true ? K : never]?: Exclude<T[K], undefined>;
};

// In the sandbox of workflows every use of a global is slow.
const { keys } = Object;

/** Leaves out the fields that are undefined, where fields are laid over others, counted, or written one by one. */
export function defined<T extends object>(fields: T): Defined<T>;
export function defined(fields: Record<string, unknown>): object {
  const kept: Record<string, unknown> = {};
  for (const name of keys(fields)) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept;
}
