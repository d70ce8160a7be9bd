import type { Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { TransportError } from '../../src/tools/errors';
import { recordTool, useEffects } from '../support/effects';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { waitFor } from '../support/turns';
import { startBench, until, type TestBench, type TurnHandle } from '../support/worker';
import { testClient, testDesk, type TestDesk } from './support';

const effects = useEffects();
const book = scriptBook();
let bench: TestBench;
let client: Countersign;
let desk: TestDesk & { remove(): Promise<void> };
let cookie: string;

beforeAll(async () => {
  const lose = recordTool(effects, { name: 'lose', safety: 'cautious', effect: 'unsafe' }, () => {
    throw new TransportError('the line broke');
  });
  const agent = defineAgent({ name: 'loser', instructions: 'do', model: book.model, tools: [lose] });
  bench = await startBench({ agents: [agent] });
  client = await testClient(testAddress());
  desk = await testDesk(client);
  cookie = await desk.signIn();
});

afterAll(async () => {
  desk.close();
  await desk.remove();
  await client.close();
  await bench.stop();
});

/** A turn with one call in doubt, 1.1, and the key that a page would show of it. */
const inDoubt = async (tag: string): Promise<{ handle: TurnHandle; callKey: string }> => {
  const prompt = book.add({ toolCalls: [{ name: 'lose', arguments: { tag } }] }, readBack);
  const { turn } = await client.start({ agent: 'loser', prompt, taskQueue: bench.taskQueue });
  const handle = bench.client.workflow.getHandle(turn);
  await waitFor(handle, '1.1', 'in_doubt');
  const [doubt] = (await client.view(turn)).inDoubt;
  return { handle, callKey: doubt?.callKey ?? '' };
};

const resolve = ({ workflowId }: TurnHandle, json: object): Promise<Response> =>
  desk.ask(`/api/turns/${workflowId}/resolutions`, { cookie, json: { callId: '1.1', ...json } });

test('a call in doubt is resolved, and the model reads what the person knows', async () => {
  const { handle, callKey } = await inDoubt('happened');
  const stale = await resolve(handle, { resolution: 'happened', callKey: 'another:1.1' });
  expect(stale.status).toBe(409);
  expect(await stale.json()).toMatchObject({ status: 'refused', verdict: { code: 'stale_args' } });
  const response = await resolve(handle, { resolution: 'happened', content: 'paid, no. 7', callKey });
  expect(response.status).toBe(200);
  expect((await handle.result()).answer).toContain('paid, no. 7');
  const view = await client.view(handle.workflowId);
  expect(view.calls[0]?.resolutions).toMatchObject([
    { approver: 'owner', channel: 'web', authenticated: true, resolution: 'happened' },
  ]);
  expect(await effects.lines('happened')).toHaveLength(1);
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
  const response = await desk.ask(path, { cookie, json: { abandon: true, reason: 'enough' } });
  expect(response.status).toBe(204);
  const events = await until('the end', async () => {
    const all = await client.timeline(handle.workflowId);
    return all.at(-1)?.type === 'turn_ended' && all;
  });
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'abandoned', approver: 'owner', reason: 'enough' }),
  );
});
