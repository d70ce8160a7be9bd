import { Hono } from 'hono';
import { z } from 'zod';
import { defined } from '../../history/defined';
import type { AppDeps } from '../deps';
import { eventStream } from '../events';
import { checkInput } from '../guard/body';
import type { Env } from '../guard/signed-in';
import { readSnapshot } from '../inbox/snapshot';

const name = z.string().min(1).max(200).optional();
const filterSchema = z.object({ tool: name, agent: name, olderThan: z.coerce.number().min(0).optional() });

/** What waits for a person. */
export function inboxRoutes({ desk, feed, door, closing, tell }: AppDeps): Hono<Env> {
  return new Hono<Env>()
    .get('/', async (c) => {
      const { tool, agent, olderThan: olderThanMs } = checkInput(filterSchema, c.req.query());
      return c.json(await readSnapshot(desk, defined({ tool, agent, olderThanMs })));
    })
    .get('/events', (c) => {
      const credentials = c.get('credentials');
      const isWelcome = () => door.isStillIn(credentials);
      return eventStream({ events: (signal) => feed.listen(signal), isWelcome, closing, tell });
    });
}
