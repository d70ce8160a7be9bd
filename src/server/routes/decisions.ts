import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { Answer } from '../../client/types';
import { DECISIONS, RESOLUTIONS } from '../../contract/decision';
import { defined } from '../../history/defined';
import type { AppDeps } from '../deps';
import { readBody } from '../guard/body';
import { args, id, words } from '../guard/fields';
import { saidBy, type Env } from '../guard/signed-in';
import type { Refusal } from '../refusals/log';
import { findExactly } from './turns';

/** Strict: who decides and how that is known comes from the session, and a body that says it is refused. */
const decisionSchema = z.strictObject({
  callId: id,
  decision: z.enum(DECISIONS),
  arguments: args.optional(),
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
export function decisionRoutes({ desk, feed, refusals }: AppDeps): Hono<Env> {
  const answered = async (
    c: Context<Env>,
    answer: Answer,
    about: Pick<Refusal, 'turn' | 'callId' | 'what'>,
  ) => {
    feed.refresh();
    if (answer.status !== 'refused') return c.json(answer);
    const [user, at] = [saidBy(c).approver, new Date().toISOString()];
    const { code } = answer.verdict;
    await refusals.add({ at, namespace: desk.namespace, user, ...about, code });
    return c.json(answer, 409);
  };
  return new Hono<Env>()
    .post('/:turn/decisions', async (c) => {
      const body = await readBody(c, decisionSchema);
      const turn = await findExactly(desk, c.req.param('turn'));
      const answer = await desk.decide(turn, { ...defined(body), ...saidBy(c) });
      return answered(c, answer, { turn, callId: body.callId, what: 'decision' });
    })
    .post('/:turn/resolutions', async (c) => {
      const body = await readBody(c, resolutionSchema);
      const turn = await findExactly(desk, c.req.param('turn'));
      const answer = await desk.resolve(turn, { ...defined(body), ...saidBy(c) });
      return answered(c, answer, { turn, callId: body.callId, what: 'resolution' });
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
