import type { Json } from '../../contract/json';

/** Where a value of a call is: `args.edits.0.path` is `['args', 'edits', '0', 'path']`. */
export type Path = readonly string[];

export const COMPARISONS = ['==', '!=', '<', '<=', '>', '>=', 'contains'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** One side of a comparison. */
export type Operand = { value: Json } | { path: Path };

/** A condition about one call. */
export type Condition =
  | { kind: 'and' | 'or'; left: Condition; right: Condition }
  | { kind: 'not'; of: Condition }
  | { kind: 'compare'; by: Comparison; left: Operand; right: Operand }
  /** True where the value is `true`. */
  | { kind: 'is'; of: Operand };
