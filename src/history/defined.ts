/** Whether a field can be told from an absent one; `unknown` says so itself. */
type Optional<V> = unknown extends V ? false : undefined extends V ? true : false;

/** The same fields, optional where they may be undefined. */
export type Defined<T> = { [K in keyof T as Optional<T[K]> extends true ? never : K]: T[K] } & {
  [K in keyof T as Optional<T[K]> extends true ? K : never]?: Exclude<T[K], undefined>;
};

/** Leaves out the fields that are undefined: absent and undefined are two things in our types. */
export function defined<T extends object>(fields: T): Defined<T>;
export function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
