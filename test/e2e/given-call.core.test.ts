import { randomUUID } from 'node:crypto';
import { connect, type Countersign } from '../../src/client';
import { startOf, type TurnInput, type TurnResult } from '../../src/contract/turn';
import { defineAgent } from '../../src/tools/define-agent';
import { scriptedModel } from '../../src/models/scripted';
import { approveNext, denyNext } from '../../src/testing';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { decide, openOf, waitFor } from '../support/turns';

const effects = useEffects();
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  const tools = [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  ];
  // A model that is asked would fail the turn: its script is empty.
  fixture = await startFixture({
    agents: [defineAgent({ name: 'till', instructions: 'do', model: scriptedModel([]), tools })],
  });
  client = await connect({ address: fixture.address });
});

afterAll(() => client.close());

const begin = (tool: string, args: unknown, id = `test-turn-${randomUUID()}`) => {
  const call = { tool, raw: typeof args === 'string' ? args : JSON.stringify(args) };
  const input: TurnInput = { agent: 'till', prompt: tool, origin: { requester: 'ann' }, call };
  return fixture.client.workflow.start<(input: TurnInput) => Promise<TurnResult>>('agentTurn', {
    ...{ args: [input], taskQueue: fixture.taskQueue, workflowId: id, ...startOf(input, tool) },
  });
};

const typesOf = async (turn: string) => (await client.timeline(turn)).map(({ type }) => type);

it('asks a person about its call, runs it once as they changed it, and ends with its result', async () => {
  const handle = await begin('pay', { tag: 'given' });
  await waitFor(handle, '1.1');
  const { memo } = await handle.describe();
  expect(memo?.['call']).toEqual({ by: 'ann', digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
  await decide(handle, {
    ...{ callId: '1.1', decision: 'modified', arguments: { tag: 'changed' } },
    ...{ reason: 'the other one', approver: 'bea' },
  });
  const { status, steps, counts, result } = await handle.result();
  expect({ status, steps, counts }).toMatchObject({
    ...{ status: 'answered', steps: 1, counts: { calls: 1, requests: 1, modified: 1 } },
  });
  expect(result).toMatchObject({
    success: true,
    arguments: { tag: 'changed' },
    metadata: { approved: true },
  });
  expect(result?.content).toContain('bea changed the arguments of this call');
  expect(await effects.lines('changed')).toEqual(['pay changed']);
  expect(await effects.lines('given')).toEqual([]);
  const view = await client.view(handle.workflowId);
  expect(view).toMatchObject({ status: 'answered', origin: { requester: 'ann' } });
  expect(view.calls).toMatchObject([{ callId: '1.1', tool: 'pay', result: { success: true } }]);
  expect(view.steps).toMatchObject([{ step: 1, given: true }]);
  expect(await typesOf(handle.workflowId)).not.toContain('thinking');
});

it.each([
  ['a call that asks nobody', 'look', { tag: 'free' }, { success: true, content: 'look did free' }],
  ['arguments that do not fit', 'pay', { tag: 7 }, { success: false, error: { code: 'validation' } }],
  ['no JSON', 'pay', '{"tag":', { success: false, error: { code: 'validation' } }],
])('ends with the result of %s', async (_case, tool, args, expected) => {
  const handle = await begin(tool, args);
  expect((await handle.result()).result).toMatchObject(expected);
});

it('ends with a denial, and nothing ran', async () => {
  const handle = await begin('pay', { tag: 'no' });
  await denyNext(client, handle.workflowId, { reason: 'too much' });
  const { status, result } = await handle.result();
  expect(status).toBe('answered');
  expect(result).toMatchObject({ success: false, error: { code: 'denied' } });
  expect(result?.content).toContain('too much');
  expect(await effects.lines('no')).toEqual([]);
});

it('gives a call another key in each run, although all else is the same', async () => {
  const id = `test-turn-${randomUUID()}`;
  const keys: (string | undefined)[] = [];
  for (const _ of [1, 2]) {
    const handle = await begin('pay', { tag: 'twice' }, id);
    await waitFor(handle, '1.1');
    keys.push((await openOf(handle))?.key);
    expect(keys.at(-1)).toBe(`${handle.firstExecutionRunId}:default`);
    await approveNext(client, id);
    expect((await handle.result()).result?.success).toBe(true);
  }
  expect(new Set(keys).size).toBe(2);
  expect(await effects.lines('twice')).toHaveLength(2);
});

it('is refused with a call that is none', async () => {
  const input = { agent: 'till', prompt: 'x', call: { tool: 'No.Tool', raw: '{}' } };
  const id = `test-turn-${randomUUID()}`;
  const handle = await fixture.client.workflow.start('agentTurn', {
    ...{ args: [input], taskQueue: fixture.taskQueue, workflowId: id },
  });
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('FAILED');
});

it('can be forked at its call, which then only says that it would ask', async () => {
  const handle = await begin('pay', { tag: 'fork' });
  await denyNext(client, handle.workflowId);
  await handle.result();
  const fork = await client.fork({ turn: handle.workflowId, at: '1.1' });
  await fixture.client.workflow.getHandle(fork.turn).result();
  expect((await client.view(fork.turn)).calls[0]?.result?.metadata.dry).toBe('would_ask');
  expect(await effects.lines('fork')).toEqual([]);
});
