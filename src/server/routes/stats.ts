import { Hono } from 'hono';
import { z } from 'zod';
import { defined } from '../../history/defined';
import type { AppDeps } from '../deps';
import { checkInput } from '../guard/body';
import type { Env } from '../guard/signed-in';

const name = z.string().min(1).max(200).optional();
/** A hundred years; longer ago than that is no date at some point. */
const MOST_AGO_MS = 100 * 365 * 24 * 3_600_000;
const statsSchema = z.object({
  // How long ago: a moment would be another question with each one who asks.
  since: z.coerce.number().int().min(1).max(MOST_AGO_MS).optional(),
  agent: name,
  tool: name,
  limit: z.coerce.number().int().min(1).max(500).default(200),
});

/** What turns came to. */
export function statsRoutes({ stats }: AppDeps): Hono<Env> {
  return new Hono<Env>().get('/', async (c) => {
    const { since: sinceMs, limit, ...filter } = checkInput(statsSchema, c.req.query());
    return c.json(await stats.read({ limit, ...defined({ sinceMs, ...filter }) }));
  });
}
