import { Hono } from 'hono';
import { z } from 'zod';
import type { ForkChange } from '../../history/fork';
import { defined } from '../../history/defined';
import type { StartedForkAnswer } from '../api';
import type { AppDeps } from '../deps';
import { readBody } from '../guard/body';
import { args, id, words } from '../guard/fields';
import { saidBy, type Env } from '../guard/signed-in';
import { findExactly } from './turns';

/** Strict: who decides comes from the session, and a body that says it is refused. */
const changeSchema = z.discriminatedUnion('what', [
  z.strictObject({ what: z.literal('arguments'), arguments: args }),
  z.strictObject({ what: z.literal('decision'), decision: z.enum(['approved', 'denied']), reason: words }),
  z.strictObject({
    what: z.literal('reply'),
    reply: z.strictObject({
      text: z.string().optional(),
      calls: z.array(z.strictObject({ tool: id, arguments: args.optional() })).optional(),
    }),
  }),
]);

const forkSchema = z.strictObject({
  at: id,
  change: changeSchema.optional(),
  model: id.optional(),
  live: z.boolean().default(false),
});

/** Going on from a call as if it had gone otherwise: starts a turn of its own, and changes none. */
export function forkRoutes({ desk, feed }: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/:turn/forks', async (c) => {
    const { at, change, model, live } = await readBody(c, forkSchema);
    const of = await findExactly(desk, c.req.param('turn'));
    const { approver } = saidBy(c);
    const asked = defined({ model, change: change && changeOf(change, approver) });
    const { turn } = await desk.fork({ turn: of, at, world: live ? 'live' : 'dry', ...asked });
    feed.refresh();
    return c.json({ turn, of } satisfies StartedForkAnswer, 201);
  });
}

function changeOf(change: z.infer<typeof changeSchema>, approver: string): ForkChange {
  switch (change.what) {
    case 'arguments':
      return change;
    case 'decision':
      return { ...defined(change), approver };
    case 'reply': {
      const { text, calls } = change.reply;
      return { what: 'reply', reply: defined({ text, calls: calls?.map((call) => defined(call)) }) };
    }
  }
}
