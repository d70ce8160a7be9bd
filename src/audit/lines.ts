import { z } from 'zod';
import { parseJson } from '../contract/json';
import type { SealedField } from './format';
import { type ReadLine } from './read';

/** The value of a field. Undefined if it was taken out, or was never there. */
export function valueOf({ open }: ReadLine, name: SealedField): string | undefined {
  const [, value] = pair.safeParse(parseJson(open.get(name) ?? '')).data ?? [];
  return value;
}

const pair = z.tuple([z.string(), z.string()]);

/** Whether a line had a field whose value was taken out of the file. */
export function isTakenOut({ sealed, open }: ReadLine, name: SealedField): boolean {
  return sealed.has(name) && !open.has(name);
}
