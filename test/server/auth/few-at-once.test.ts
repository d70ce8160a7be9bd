import { Hono } from 'hono';
import { CountersignError } from '../../../src/contract/errors';
import { fewAtOnce } from '../../../src/server/auth/few-at-once';
import type { Env } from '../../../src/server/deps';

/** An app that answers two requests of a user at once, and each only when it is let through. */
function openApp() {
  const held: (() => void)[] = [];
  const app = new Hono<Env>()
    .use(async (c, next) => {
      c.set('who', { user: c.req.header('user') ?? '', rights: [] });
      await next();
    }, fewAtOnce(2))
    .get('/', async (c) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return c.text('ok');
    })
    .get('/fails', () => {
      throw new CountersignError('usage', 'no');
    })
    .onError((error, c) =>
      c.text(error.message, error.message.startsWith('2 requests of yours') ? 429 : 400),
    );
  const ask = async (user: string, path = '/'): Promise<number> =>
    (await app.request(path, { headers: { user } })).status;
  return { ask, held };
}

it('answers two at once of one user, and others of other users', async () => {
  const { ask, held } = openApp();
  const open = [ask('ann'), ask('ann'), ask('bob')];
  await new Promise((resolve) => setImmediate(resolve));
  expect(held).toHaveLength(3);
  expect(await ask('ann')).toBe(429);
  held.forEach((letThrough) => letThrough());
  expect(await Promise.all(open)).toEqual([200, 200, 200]);
});

it('answers more once those are answered, or have failed', async () => {
  const { ask, held } = openApp();
  for (let n = 0; n < 5; n++) expect(await ask('ann', '/fails')).toBe(400);
  const open = [ask('ann'), ask('ann')];
  await new Promise((resolve) => setImmediate(resolve));
  held.splice(0).forEach((letThrough) => letThrough());
  await Promise.all(open);
  const next = ask('ann');
  await new Promise((resolve) => setImmediate(resolve));
  held.forEach((letThrough) => letThrough());
  expect(await next).toBe(200);
});
