import type { Client } from '@temporalio/client';
import { makeGrants } from '../../../src/client/control/grants';
import type { ClientContext } from '../../../src/client/context';
import { CountersignError } from '../../../src/contract/errors';

const silence = (): Error =>
  Object.assign(new Error('too late'), { name: 'WorkflowUpdateRPCTimeoutOrCancelledError' });

/** A client whose queries end as the answers say, one after the other. */
function contextOf(...answers: (() => Promise<unknown>)[]): { context: ClientContext; query: jest.Mock } {
  const query = jest.fn(() => answers.shift()?.() ?? Promise.reject(new Error('asked too often')));
  const client = {
    withDeadline: (_: number, call: () => unknown) => call(),
    workflow: { getHandle: () => ({ query }) },
  } as unknown as Client;
  return { context: { client } as unknown as ClientContext, query };
}
const silent = () => Promise.reject(silence());
const answered = () => Promise.resolve({ grants: [] });

it('asks again if no worker answers, and takes the second answer', async () => {
  const { context, query } = contextOf(silent, answered);
  expect(await makeGrants(context).list()).toEqual({ grants: [] });
  expect(query).toHaveBeenCalledTimes(2);
});

it('says after two silences that no worker answered', async () => {
  const { context, query } = contextOf(silent, silent);
  const error: unknown = await makeGrants(context)
    .list()
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(CountersignError);
  expect(error).toMatchObject({
    code: 'control_unavailable',
    message: expect.stringMatching(/no worker answered/) as string,
  });
  expect(query).toHaveBeenCalledTimes(2);
});

it('does not ask again after another failure', async () => {
  const { context, query } = contextOf(() => Promise.reject(new Error('broken')), answered);
  await expect(makeGrants(context).list()).rejects.toThrow(/asking which grants/);
  expect(query).toHaveBeenCalledTimes(1);
});
