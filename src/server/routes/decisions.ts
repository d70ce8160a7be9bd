import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Answer } from '../../client/types';
import { DECISIONS, RESOLUTIONS } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { utf8Bytes } from '../../contract/transcript';
import { defined } from '../../history/defined';
import type { AppDeps } from '../deps';
import { readBody } from '../guard/body';
import type { Env } from '../guard/signed-in';
import { findExactly } from './turns';

const id = z.string().min(1).max(200);
const words = z
  .string()
  // Nobody types these; in a reason they would only deceive whoever reads it.
  .refine((text) => !/[^\P{Cc}\n\t]/u.test(text), 'control characters are not allowed')
  .refine((text) => utf8Bytes(text) <= LIMITS.reasonBytes, `over ${LIMITS.reasonBytes} bytes`)
  .optional();
const args = z.custom<JsonObject>(isObject, 'must be an object').optional();

/** Strict: who decides and how that is known comes from the session, and a body that says it is refused. */
const decisionSchema = z.strictObject({
  callId: id,
  decision: z.enum(DECISIONS),
  arguments: args,
  hunks: z.array(id).max(10_000).optional(),
  reason: words,
  argsDigest: id,
  callKey: id,
  decisionId: id.optional(),
});

const resolutionSchema = z.strictObject({
  callId: id,
  resolution: z.enum(RESOLUTIONS),
  reason: words,
  content: z.string().optional(),
  callKey: id,
  decisionId: id.optional(),
});

const cancelSchema = z.strictObject({ reason: words, abandon: z.boolean().optional() });

/** What changes something. */
export function decisionRoutes({ desk, feed }: AppDeps): Hono<Env> {
  const answered = (c: Context<Env>, answer: Answer) => {
    feed.refresh();
    return c.json(answer, answer.status === 'refused' ? 409 : 200);
  };
  return new Hono<Env>()
    .post('/:turn/decisions', async (c) => {
      const body = await readBody(c, decisionSchema);
      const turn = await findExactly(desk, c.req.param('turn'));
      return answered(c, await desk.decide(turn, { ...defined(body), ...saidBy(c) }));
    })
    .post('/:turn/resolutions', async (c) => {
      const body = await readBody(c, resolutionSchema);
      const turn = await findExactly(desk, c.req.param('turn'));
      return answered(c, await desk.resolve(turn, { ...defined(body), ...saidBy(c) }));
    })
    .post('/:turn/cancel', async (c) => {
      const { reason, abandon = false } = await readBody(c, cancelSchema);
      const turn = await findExactly(desk, c.req.param('turn'));
      const { approver } = saidBy(c);
      if (abandon) await desk.abandon(turn, { approver, ...defined({ reason }) });
      // Temporal records its own caller, which is the desk: only the reason can tell who asked.
      else await desk.cancel(turn, reason === undefined ? `by ${approver}` : `by ${approver}: ${reason}`);
      feed.refresh();
      return c.body(null, 204);
    });
}

/** Who says it, as the session knows. */
function saidBy(c: Context<Env>) {
  return { approver: c.get('who').user, channel: 'web', authenticated: true as const };
}
