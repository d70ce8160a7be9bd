/** Whether a field is left out where it is undefined. A field of type `unknown`, or of any name, stays as it is. */
type Optional<K, V> = unknown extends V
  ? false
  : string extends K
    ? false
    : undefined extends V
      ? true
      : false;

/** The same fields, optional where they may be undefined. */
export type Defined<T> = {
  [K in keyof T as Optional<K, T[K]> extends true ? never : K]: string extends K
    ? Exclude<T[K], undefined>
    : T[K];
} & {
  [K in keyof T as Optional<K, T[K]> extends true ? K : never]?: Exclude<T[K], undefined>;
};

// In the sandbox of workflows every use of a global is slow.
const { entries, fromEntries } = Object;

/** Leaves out the fields that are undefined: absent and undefined are two things in our types. */
export function defined<T extends object>(fields: T): Defined<T>;
export function defined(fields: object): object {
  return fromEntries(entries(fields).filter(([, value]) => value !== undefined));
}
