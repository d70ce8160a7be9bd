import { Hono } from 'hono';
import { z } from 'zod';
import { CountersignError } from '../../contract/errors';
import type { PushPlace } from '../api';
import type { AppDeps, Env } from '../deps';
import { checkInput, readBody } from '../request-body';
import type { Push } from './store';
import { subscriptionId, subscriptionSchema } from './subscription';

const placeSchema = z.object({
  browser: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'is not a digest')
    .optional(),
});
const endSchema = subscriptionSchema.pick({ endpoint: true });

/** The routes for the browsers in which the signed-in user is notified. */
export function pushRoutes({ push }: Pick<AppDeps, 'push'>): Hono<Env> {
  return new Hono<Env>()
    .get('/', (c) => {
      const { publicKey, subscriptions } = opened(push);
      const { browser } = checkInput(placeSchema, c.req.query());
      const isNotified = browser !== undefined && subscriptions.get(browser)?.user === c.get('who').user;
      return c.json<PushPlace>({ publicKey, isNotified });
    })
    .post('/', async (c) => {
      const { subscriptions, mayReach } = opened(push);
      const subscription = await readBody(c, subscriptionSchema);
      if (!mayReach(new URL(subscription.endpoint)))
        throw new CountersignError(
          'usage',
          'this web inbox sends nothing to where this browser listens',
          'whoever runs it can name the host in `privateHosts` of the file of channels',
        );
      await subscriptions.add(c.get('who').user, subscription, Date.now());
      return c.body(null, 204);
    })
    .delete('/', async (c) => {
      const { subscriptions } = opened(push);
      await subscriptions.remove(subscriptionId(await readBody(c, endSchema)), c.get('who').user);
      return c.body(null, 204);
    });
}

function opened(push: Push | undefined): Push {
  if (push) return push;
  throw new CountersignError(
    'not_found',
    'this web inbox notifies no browser',
    'whoever runs it names a file of channels with web push: countersign web --channels notify.yaml',
  );
}
