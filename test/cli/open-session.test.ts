import type { Countersign } from '../../src/client';
import { sessionOf } from '../../src/cli/open-session';
import { CountersignError } from '../../src/contract/errors';

/** A client whose sessions answer like this. */
const clientOf = (history: () => Promise<unknown>): Countersign =>
  new Proxy(Object.create(null), { get: () => () => ({ history }) });

const fails = (code: 'not_found' | 'usage' | 'no_server') => async () =>
  Promise.reject(new CountersignError(code, 'it fails'));

it('is the session of exactly this id', async () => {
  const session = { session: 's-1' };
  expect(
    await sessionOf(
      clientOf(async () => session),
      's-1',
    ),
  ).toBe(session);
});

it.each(['not_found', 'usage'] as const)('is none where the client says %s', async (code) => {
  expect(await sessionOf(clientOf(fails(code)), 't-1')).toBeUndefined();
});

it('is not known while the server is away', async () => {
  await expect(sessionOf(clientOf(fails('no_server')), 's-1')).rejects.toMatchObject({ code: 'no_server' });
});
