import { z } from 'zod';
import { parseJson } from '../contract/json';
import type { SealedField } from './format';
import { frameOf, type ReadLine } from './read';

/** The namespace that the first line of a file names. */
export function namespaceIn({ body }: ReadLine): string {
  return first.safeParse(frameOf(body)).data?.namespace ?? '';
}

const first = z.object({ namespace: z.string() });

/** Whether a record is of a decision or a resolution that was not refused. */
export function isDecision({ type }: ReadLine): boolean {
  return type === 'decision' || type === 'resolution';
}

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
