import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { awayTerms } from '../../client/control/away';
import { isAtLeast } from '../../contract/authority/permits';
import { defined } from '../../contract/defined';
import { CountersignError } from '../../contract/errors';
import type { AppDeps } from '../deps';
import { checkInput, controlReason, readBody } from '../request-body';
import { type Env, senderOf } from '../session';

const moment = z.iso.datetime({ offset: true });
const awaySchema = z.strictObject({
  to: z.string().min(1).max(200),
  start: moment.optional(),
  end: moment,
  reason: controlReason,
});
const idParam = z.object({ id: z.string().min(1).max(100) });

/** The routes for out-of-office entries. People can only put themselves away. An admin can end anybody's entry. */
export function awayRoutes({ client, voters, awaySigner }: AppDeps): Hono<Env> {
  const senderIn = async (c: Context<Env>) => {
    const [file, user] = [await voters?.(), senderOf(c).approver];
    return { file, user, person: file?.personOf(user) ?? user };
  };
  return new Hono<Env>()
    .get('/', async (c) => c.json(await client.away.list()))
    .post('/', async (c) => {
      const { to, start, end, reason } = await readBody(c, awaySchema);
      const { file, user, person } = await senderIn(c);
      if (file !== undefined && file.personOf(user) === undefined)
        throw new CountersignError('not_allowed', `${user} is not in the approvers file`);
      const delegate = file === undefined ? to : file.personOf(to);
      if (delegate === undefined) throw new CountersignError('usage', `${to} is not in the approvers file`);
      const from = start === undefined ? Date.now() : Date.parse(start);
      const terms = awayTerms({ from: person, to: delegate }, { start: from, end: Date.parse(end) });
      const signature = await awaySigner?.({ terms, namespace: client.namespace, user });
      return c.json(await client.away.put({ ...terms, ...defined({ reason, signature }) }));
    })
    .delete('/:id', async (c) => {
      const { id } = checkInput(idParam, c.req.param());
      const { file, person } = await senderIn(c);
      const entry = (await client.away.list()).entries.find((one) => one.id === id);
      if (entry === undefined)
        throw new CountersignError('away_not_found', `there is no out-of-office ${id}`, {
          hint: 'GET /api/away shows who is away',
        });
      const isOwn = (file?.personOf(entry.from) ?? entry.from) === person;
      if (!isOwn && !isAtLeast(c.get('permit').role, 'admin'))
        throw new CountersignError('not_allowed', `only ${entry.from} or an admin ends this out-of-office`);
      return c.json(await client.away.end({ id, by: person }));
    });
}
