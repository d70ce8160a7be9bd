import { z } from 'zod';
import type { Preview } from '../contract/plan';
import type { Verification } from './types';

const hunk = z.object({
  id: z.string(),
  oldStart: z.number(),
  oldLines: z.number(),
  newStart: z.number(),
  newLines: z.number(),
  lines: z.array(z.string()),
});

const plan = z.object({
  path: z.string(),
  baseHash: z.string().nullable(),
  targetHash: z.string(),
  encoding: z.enum(['utf8', 'latin1']),
  hunks: z.array(hunk),
});

const preview = z.union([z.string(), z.object({ text: z.string(), plan: plan.optional() })]);

const verification = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('happened'), content: z.string() }),
  z.object({ outcome: z.literal('did_not') }),
  z.object({ outcome: z.literal('cannot_tell') }),
]);

/**
 * What a tool's `preview` answered, in its full form.
 *
 * @throws TypeError where it is neither text nor a preview.
 */
export function toPreview(answer: unknown): Preview {
  const parsed = preview.safeParse(answer);
  if (!parsed.success) throw new TypeError('preview must return a string or { text, plan? }');
  if (typeof parsed.data === 'string') return { text: parsed.data };
  const { text, plan: filePlan } = parsed.data;
  return filePlan === undefined ? { text } : { text, plan: filePlan };
}

/**
 * What a tool's `verify` answered.
 *
 * @throws TypeError where it is none of the three outcomes; whoever asked takes a throw for `cannot_tell`.
 */
export function toVerification(answer: unknown): Verification {
  const parsed = verification.safeParse(answer);
  if (!parsed.success)
    throw new TypeError("verify must return { outcome: 'happened' | 'did_not' | 'cannot_tell' }");
  return parsed.data;
}
