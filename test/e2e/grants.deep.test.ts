import { connect, type Countersign, type GrantOptions } from '../../src/client';
import { ON_CONTROL_QUEUE } from '../../src/authority/pauses/client';
import { grantWorkflowId, WORKFLOWS } from '../../src/contract/names';
import { defineAgent } from '../../src/tools/define-agent';
import type { ScriptedStep } from '../../src/models/scripted';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { decide, openOf, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

const DANGEROUS = { safety: 'dangerous' } as const;
const makeTools = (description?: string) => [
  recordTool(effects, {
    name: 'pay',
    ...DANGEROUS,
    effect: 'unsafe',
    ...(description ? { description } : {}),
  }),
  recordTool(effects, { name: 'look', ...DANGEROUS, effect: 'pure' }),
  recordTool(effects, { name: 'once', ...DANGEROUS, noGrant: true }),
];

/** What is held is of a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  const agents = ['clerk', 'boss'].map((name) =>
    defineAgent({ name, instructions: 'do', model: book.model, tools: makeTools(), order: 'parallel' }),
  );
  await fixture.addWorker({}, { agents });
  client = await connect({ client: fixture.client });
});

/** A turn that asks for calls with these arguments, all at once. */
async function start(agent: string, name: string, ...args: ScriptedArgs[]): Promise<TurnHandle> {
  const step: ScriptedStep = { text: 'I do it.', toolCalls: args.map((one) => ({ name, arguments: one })) };
  const prompt = book.add(step, { text: 'done' });
  const { turn } = await client.start({ agent, prompt, taskQueue: fixture.taskQueue });
  return fixture.client.workflow.getHandle(turn);
}

type ScriptedArgs = { tag: string; amount?: number; to?: string };

/** Gives a grant on a call that somebody denies; until then nothing is allowed. */
async function give(args: ScriptedArgs, options: Partial<GrantOptions>, name = 'pay'): Promise<string> {
  const handle = await start('clerk', name, args);
  await waitFor(handle, '1.1');
  const { terms } = await client.grants.plan(handle.workflowId, '1.1', { by: 'ann', ...options });
  const { id } = await client.grants.give(terms);
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await handle.result();
  return id;
}

const waiting = (handle: TurnHandle, count: number): Promise<unknown> =>
  until(`${count} requests`, async () => (await openOf(handle))?.items.length === count);

const story = async ({ workflowId }: TurnHandle): Promise<string[]> =>
  (await client.timeline(workflowId)).map(({ type }) => type);

/** A call that has found its grant and waits behind a pause of its tool. */
const heldCall = async (args: Parameters<typeof give>[0]): Promise<TurnHandle> => {
  await client.pause({ tool: 'pay', reason: 'an incident', by: 'ann' });
  const handle = await start('clerk', 'pay', args);
  await until('it to be held', async () => (await story(handle)).includes('call_held'));
  return handle;
};

it('lets three of five parallel calls run, and asks about the others', async () => {
  const args = { tag: 'three', amount: 5 };
  const id = await give(args, { times: 3 });
  const handle = await start('clerk', 'pay', args, args, args, args, args);
  await waiting(handle, 2);
  const view = await until('the results of three', async () => {
    const seen = await client.view(handle.workflowId);
    return seen.calls.filter(({ phase }) => phase === 'done').length === 3 && seen;
  });
  expect(await effects.lines('three')).toHaveLength(3);
  const { grants } = await client.grants.list();
  expect(grants).toContainEqual(expect.objectContaining({ id, times: 3, used: 3, by: 'ann' }));
  const ran = view.calls.filter(({ phase }) => phase === 'done');
  expect(ran.map(({ grant }) => grant?.use).sort()).toEqual([1, 2, 3]);
  expect(ran).toEqual(
    ran.map(() => expect.objectContaining({ grant: expect.objectContaining({ id, by: 'ann', times: 3 }) })),
  );
  expect(view.requests.map(({ note }) => note)).toEqual([
    expect.stringMatching(/^the grant of ann does not allow it: its 3 uses are claimed$/),
    expect.stringMatching(/^the grant of ann does not allow it: its 3 uses are claimed$/),
  ]);
  for (const { callId } of view.requests)
    await decide(handle, { callId, decision: 'approved', ...(await seenOf(handle, callId)) });
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { requests: 2, inDoubt: 0 } });
  expect(await effects.lines('three')).toHaveLength(5);
  await client.grants.revoke({ id, by: 'ann' });
});

it.each<[string, string, string, ScriptedArgs]>([
  ['other arguments', 'clerk', 'pay', { tag: 'exact', amount: 6 }],
  ['one more argument', 'clerk', 'pay', { tag: 'exact', amount: 5, to: 'eve' }],
  ['another agent', 'boss', 'pay', { tag: 'exact', amount: 5 }],
  ['another tool', 'clerk', 'look', { tag: 'exact', amount: 5 }],
])('asks about a call with %s', async (_case, agent, name, args) => {
  const { grants } = await client.grants.list();
  const isThere = grants.some(({ narrowing }) => JSON.stringify(narrowing).includes('"exact"'));
  if (!isThere) await give({ tag: 'exact', amount: 5 }, { forMs: 600_000 });
  const handle = await start(agent, name, args);
  await waitFor(handle, '1.1');
  expect(await story(handle)).not.toContain('call_started');
  await handle.terminate();
});

it('takes what a range and a glob let through, also for a call that its worker retries', async () => {
  const narrowing = { tag: { is: 'glob', glob: 'wide-*' }, amount: { is: 'range', max: 10 } } as const;
  const id = await give({ tag: 'wide-0', amount: 1 }, { forMs: 600_000, narrowing }, 'look');
  const handle = await start('clerk', 'look', { tag: 'wide-1', amount: 10 }, { tag: 'wide-2', amount: 11 });
  await waitFor(handle, '1.2');
  await until('the other one', async () => (await effects.lines('wide-1')).length === 1);
  expect(await effects.lines('wide-2')).toEqual([]);
  const ran = await until('its result', async () => {
    const [first] = (await client.view(handle.workflowId)).calls;
    return first?.phase === 'done' && first;
  });
  expect(ran).toMatchObject({ grant: { id, use: 1, assurance: 'claimed' } });
  const plan = await client.grants.plan(handle.workflowId, '1.2', { by: 'ann', times: 2 });
  expect(plan.sentence).toMatch(
    /^Allows clerk to run look with exactly these arguments .*: up to 2 calls, until /,
  );
  expect(await client.grants.coverage({ ...plan.terms, narrowing })).toMatchObject({ covered: 1, denied: 1 });
  await handle.terminate();
});

it('asks once a grant is revoked, also about a call that a pause held', async () => {
  const args = { tag: 'held', amount: 1 };
  const id = await give(args, { forMs: 600_000 });
  const handle = await heldCall(args);
  const { ended } = await client.grants.revoke({ id, by: 'ann' });
  expect(ended).toMatchObject([{ id }]);
  await client.resume({ tool: 'pay', by: 'ann' });
  await waitFor(handle, '1.1');
  expect(await effects.lines('held')).toEqual([]);
  const [request] = (await client.view(handle.workflowId)).requests;
  expect(request?.note).toBe('the grant of ann does not allow it: it was revoked');
  await handle.terminate();
});

it('says no to a grant where its tool wants none, and to one that is over', async () => {
  const handle = await start('clerk', 'once', { tag: 'never' });
  await waitFor(handle, '1.1');
  const plan = client.grants.plan(handle.workflowId, '1.1', { by: 'ann', times: 1 });
  await expect(plan).rejects.toMatchObject({ code: 'refused' });
  await handle.terminate();
  const other = await start('clerk', 'pay', { tag: 'never' });
  await waitFor(other, '1.1');
  const { terms } = await client.grants.plan(other.workflowId, '1.1', { by: 'ann', times: 1 });
  const past = { ...terms, until: new Date(Date.now() - 1).toISOString() };
  await expect(client.grants.give(past)).rejects.toMatchObject({ code: 'refused' });
  await expect(client.grants.revoke({ id: terms.id, by: 'ann' })).rejects.toMatchObject({
    code: 'not_found',
  });
  await other.terminate();
});

/** Starts the workflow of a grant as anybody with rights on the server may. */
const startRaw = (id: string, ...args: unknown[]) =>
  fixture.client.workflow.start(WORKFLOWS.grant, {
    ...{ workflowId: grantWorkflowId(id), ...ON_CONTROL_QUEUE, args },
  });

it('is not fooled by who forges a grant for another tool, version, rule or id', async () => {
  const handle = await start('clerk', 'pay', { tag: 'forged' });
  await waitFor(handle, '1.1');
  const { terms } = await client.grants.plan(handle.workflowId, '1.1', { by: 'ann', times: 1 });
  await handle.terminate();
  const other = '00000000-0000-4000-8000-000000000001';
  const forged = [
    await startRaw(terms.id, { ...terms, toolDigest: 'b'.repeat(64) }),
    await startRaw(other, { ...terms, id: other, ruleDigest: 'c'.repeat(64) }),
  ];
  const misnamed = await startRaw('another', terms);
  await expect(misnamed.result()).rejects.toThrow();
  await until('both to be listed', async () => (await client.grants.list()).grants.length >= 2);
  const again = await start('clerk', 'pay', { tag: 'forged' });
  await waitFor(again, '1.1');
  expect(await story(again)).not.toContain('call_started');
  expect(await effects.lines('forged')).toEqual([]);
  await again.terminate();
  await Promise.all(forged.map((one) => one.terminate()));
  for (const wrong of [{}, { ...terms, times: 0 }, { ...terms, all: true }])
    await expect((await startRaw('wrong', wrong)).result()).rejects.toThrow();
});

it('gives the same grant once, and none under an id that is taken', async () => {
  const handle = await start('clerk', 'pay', { tag: 'twice' });
  await waitFor(handle, '1.1');
  const { terms } = await client.grants.plan(handle.workflowId, '1.1', { by: 'ann', times: 1 });
  const given = await client.grants.give(terms);
  await expect(client.grants.give(terms)).resolves.toEqual(given);
  const another = client.grants.give({ ...terms, times: 2 });
  await expect(another).rejects.toMatchObject({ code: 'refused' });
  await handle.terminate();
  await client.grants.revoke({ by: 'ann' });
  await until('no grants', async () => (await client.grants.list()).grants.length === 0);
  const { status } = await fixture.client.workflow.getHandle(grantWorkflowId(terms.id)).describe();
  expect(status.name).toBe('RUNNING');
});

it('asks where the workflow of the grant is gone', async () => {
  const args = { tag: 'gone', amount: 1 };
  const id = await give(args, { forMs: 600_000 });
  const held = await heldCall(args);
  await fixture.client.workflow.getHandle(grantWorkflowId(id)).terminate();
  await client.resume({ tool: 'pay', by: 'ann' });
  await waitFor(held, '1.1');
  expect(await effects.lines('gone')).toEqual([]);
  await held.terminate();
});

/** Turns that ask for sixty calls each. */
const burst = (turns: number, args: ScriptedArgs): Promise<TurnHandle[]> =>
  Promise.all(
    Array.from({ length: turns }, () => start('clerk', 'pay', ...Array<ScriptedArgs>(60).fill(args))),
  );

/** Waits until the worker has read of a grant, which it does by visibility: until then its calls go to a person. */
const oneRun = (args: ScriptedArgs): Promise<unknown> =>
  until('a call that runs by its grant', async () => {
    const handle = await start('clerk', 'pay', args);
    const isAsked = await until('its end, or its request', async () => {
      const { status } = await handle.describe();
      if (status.name !== 'RUNNING') return 'no';
      return ((await openOf(handle))?.count ?? 0) > 0 ? 'yes' : undefined;
    });
    if (isAsked === 'yes') await handle.terminate();
    return isAsked === 'no';
  });

it('lets all calls of a burst run, asks nobody, and counts each once', async () => {
  const args = { tag: 'burst', amount: 1 };
  const id = await give(args, { times: 400 });
  await oneRun(args);
  const handles = await burst(2, args);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results).toEqual(results.map(() => expect.objectContaining({ status: 'answered' })));
  const requests = results.map(({ counts }) => counts.requests);
  expect(requests).toEqual(requests.map(() => 0));
  expect(await effects.lines('burst')).toHaveLength(121);
  const { grants } = await client.grants.list();
  expect(grants).toContainEqual(expect.objectContaining({ id, used: 121 }));
  await client.grants.revoke({ id, by: 'ann' });
});

it('starts no call after the answer to a revocation in the middle of a burst', async () => {
  const args = { tag: 'cut', amount: 1 };
  const id = await give(args, { times: 400 });
  const handles = await burst(2, args);
  await until('some calls', async () => (await effects.lines('cut')).length > 0);
  await client.grants.revoke({ id, by: 'ann' });
  const ran = (await effects.lines('cut')).length;
  // A quick machine may have run all of the two by now.
  handles.push(...(await burst(1, args)));
  const open = async (handle: TurnHandle) => (await openOf(handle))?.count ?? 0;
  await until('the others to ask', async () => {
    const counts = await Promise.all(handles.map(open));
    return counts.reduce((sum, count) => sum + count, 0) === 180 - ran;
  });
  expect(await effects.lines('cut')).toHaveLength(ran);
  const isOpen = await Promise.all(handles.map(async (handle) => (await open(handle)) > 0));
  await Promise.all(handles.filter((_, n) => isOpen[n]).map((handle) => handle.terminate()));
});
