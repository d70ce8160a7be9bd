import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import type { AppDeps, Env } from './deps';
import { controlReason, id, readBody } from './request-body';
import { senderOf } from './session';

const scope = { agent: id.optional(), tool: id.optional() };
const pauseSchema = z.strictObject({
  ...scope,
  models: z.literal(true).optional(),
  reason: controlReason.unwrap().min(1),
});
const endSchema = z.strictObject({ ...scope, reason: controlReason });

/** The routes that pause calls, and end a pause. */
export function pauseRoutes({ client, feed }: Pick<AppDeps, 'client' | 'feed'>): Hono<Env> {
  return new Hono<Env>()
    .post('/', async (c) => {
      const asked = await readBody(c, pauseSchema);
      requireSeen(c, asked);
      const taken = await client.pause({ ...asked, by: senderOf(c).approver });
      feed.refresh();
      return c.json(taken);
    })
    .post('/end', async (c) => {
      const asked = await readBody(c, endSchema);
      requireSeen(c, asked);
      const ended = await client.resume({ ...asked, by: senderOf(c).approver });
      feed.refresh();
      return c.json(ended);
    });
}

/** @throws CountersignError `not_allowed` for a pause that would hold calls of agents that the sender does not see. */
function requireSeen(c: Context<Env>, { agent }: { agent?: string }) {
  const { agents } = c.get('permit');
  if (agents === 'all' || (agent !== undefined && agents.includes(agent))) return;
  throw new CountersignError(
    'not_allowed',
    'you do not see all of these calls',
    'name an agent that you see',
  );
}
