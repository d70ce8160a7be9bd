import { TransportError } from '../../src/tools/errors';
import { recordTool } from '../support/effects';
import { useTestApp } from './test-app';
import type { TurnHandle } from '../support/fixture';
import { until } from '../support/until';

const { effects, client, ask, start } = useTestApp('loser', (written) => [
  recordTool(written, { name: 'lose', safety: 'cautious', effect: 'unsafe' }, () => {
    throw new TransportError('the line broke');
  }),
]);

/** A turn with one call in doubt, 1.1, and the key that a page would show of it. */
const inDoubt = async (tag: string): Promise<{ handle: TurnHandle; callKey: string }> => {
  const handle = await start([{ toolCalls: [{ name: 'lose', arguments: { tag } }] }], '1.1', 'in_doubt');
  const [doubt] = (await client().view(handle.workflowId)).inDoubt;
  return { handle, callKey: doubt?.callKey ?? '' };
};

const resolve = ({ workflowId }: TurnHandle, json: object): Promise<Response> =>
  ask(`/api/turns/${workflowId}/resolutions`, { json: { callId: '1.1', ...json } });

test('a call in doubt is resolved, and the model reads what the person knows', async () => {
  const { handle, callKey } = await inDoubt('happened');
  const stale = await resolve(handle, { resolution: 'happened', callKey: 'another:1.1' });
  expect(stale.status).toBe(409);
  expect(await stale.json()).toMatchObject({ status: 'refused', verdict: { code: 'stale_args' } });
  const response = await resolve(handle, { resolution: 'happened', content: 'paid, no. 7', callKey });
  expect(response.status).toBe(200);
  expect((await handle.result()).answer).toContain('paid, no. 7');
  const view = await client().view(handle.workflowId);
  expect(view.calls[0]?.resolutions).toMatchObject([
    { approver: 'owner', channel: 'web', authenticated: true, resolution: 'happened' },
  ]);
  expect(await effects.lines('happened')).toHaveLength(1);
});

test('an answer about an earlier start does not settle a later one', async () => {
  const { handle, callKey } = await inDoubt('again');
  expect((await resolve(handle, { resolution: 'run-again', callKey, generation: 0 })).status).toBe(200);
  await until('the second start to be in doubt', async () => {
    const [call] = (await client().view(handle.workflowId)).calls;
    return call?.phase === 'in_doubt' && call.generation === 1;
  });
  const stale = await resolve(handle, { resolution: 'did-not', callKey, generation: 0 });
  expect([stale.status, await stale.json()]).toMatchObject([409, { verdict: { code: 'stale_args' } }]);
  expect((await resolve(handle, { resolution: 'happened', callKey, generation: 1 })).status).toBe(200);
  await handle.result();
  expect(await effects.lines('again')).toHaveLength(2);
});

test('what is not in doubt any more is not resolved again', async () => {
  const { handle, callKey } = await inDoubt('twice');
  expect((await resolve(handle, { resolution: 'did-not', callKey })).status).toBe(200);
  await handle.result();
  const again = await resolve(handle, { resolution: 'run-again', callKey });
  expect(again.status).toBe(409);
  expect(await again.json()).toMatchObject({
    verdict: { code: 'already_decided', standing: { approver: 'owner' } },
  });
  expect(await effects.lines('twice')).toHaveLength(1);
});

test('a turn is given up with its call in doubt, and its record says by whom', async () => {
  const { handle } = await inDoubt('given up');
  const path = `/api/turns/${handle.workflowId}/cancel`;
  const response = await ask(path, { json: { abandon: true, reason: 'enough' } });
  expect(response.status).toBe(204);
  const events = await until('the end', async () => {
    const all = await client().timeline(handle.workflowId);
    return all.at(-1)?.type === 'turn_ended' && all;
  });
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'abandoned', approver: 'owner', reason: 'enough' }),
  );
});
