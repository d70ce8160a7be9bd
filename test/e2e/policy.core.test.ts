import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PolicyAnswer } from '../../src/tools/types';
import { defineAgent } from '../../src/tools/define-agent';
import { createShellTools } from '../../src/tools/shell-tools';
import type { RunningWorker } from '../../src/worker';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook, toolTexts } from '../support/script-book';
import { decide, eventsOf, openOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const folder = scratchDirectory();
const book = scriptBook();
const pay = recordTool(effects, { name: 'pay', safety: 'dangerous', startWithin: '3s' });
const look = recordTool(effects, { name: 'look' });

/** What the policy says now; tests change it while a call is parked. */
let policy: () => PolicyAnswer = () => 'run';
const agentWith = (...tools: (typeof pay)[]) =>
  defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools, policy: () => policy() });

let fixture: Fixture;
beforeEach(async () => {
  policy = () => 'run';
  fixture = await startFixture({ workers: 0, agents: [agentWith(pay, look)] });
});
afterEach(() => fixture.stop());

const PAY = (tag: string) => ({ name: 'pay', arguments: { tag } });

test.each([
  ['refuses', () => ({ decision: 'refuse', reason: 'the month is closed' }) as const, 'the month is closed'],
  [
    'throws',
    () => {
      throw new Error('secret');
    },
    'the policy could not decide',
  ],
])('a policy that %s by the time of the start: refused, nothing runs', async (what, tightened, told) => {
  await fixture.addWorker();
  const handle = await fixture.start('payer', book.add({ toolCalls: [PAY(`policy ${what}`)] }, readBack));
  await waitFor(handle, '1.1');
  policy = tightened;
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const { answer, status } = await handle.result();
  expect(status).toBe('answered');
  expect(answer).toContain(`Error [refused]`);
  expect(answer).toContain(told);
  expect(answer).not.toContain('secret');
  expect(await effects.lines(`policy ${what}`)).toEqual([]);
});

test('a policy tightens safety: a safe call asks; it cannot loosen it: a dangerous one still asks', async () => {
  await fixture.addWorker();
  policy = () => ({ decision: 'ask', reason: 'first time' });
  const calls = [{ name: 'look', arguments: { tag: 'tight' } }, PAY('tight')];
  const handle = await fixture.start('payer', book.add({ toolCalls: calls }, readBack));
  await waitFor(handle, '1.2');
  expect((await openOf(handle))?.count).toBe(2);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await decide(handle, { callId: '1.2', decision: 'denied' });
  await handle.result();
  expect(await effects.lines('tight')).toEqual(['look tight']);
});

test.each(['unsafe', 'idempotent'] as const)(
  'a policy and a handler that take longer than the heartbeat of an %s tool: it runs once',
  async (effect) => {
    const tag = `slow policy ${effect}`;
    const slow = recordTool(effects, { name: 'slow', safety: 'dangerous', effect, heartbeat: '3s' }, () =>
      delay(4_000),
    );
    const agent = defineAgent({
      ...{ name: 'payer', instructions: 'do', model: book.model, tools: [slow] },
      policy: () => delay(4_000, 'run'),
    });
    await withAgent(agent);
    const call = { name: 'slow', arguments: { tag } };
    const handle = await fixture.start('payer', book.add({ toolCalls: [call] }, readBack));
    await waitFor(handle, '1.1');
    await decide(handle, { callId: '1.1', decision: 'approved' });
    expect(await handle.result()).toMatchObject({ answer: expect.stringContaining(`slow did ${tag}`) });
    expect(await effects.lines(tag)).toHaveLength(1);
    const started = (await eventsOf(handle)).flatMap(
      ({ activityTaskStartedEventAttributes: one }) => one ?? [],
    );
    expect(started.map(({ attempt }) => attempt)).toEqual(started.map(() => 1));
  },
);

test('a policy that refuses at once: the model learns it, nobody is asked', async () => {
  await fixture.addWorker();
  policy = () => ({ decision: 'refuse', reason: 'no payments' });
  const handle = await fixture.start('payer', book.add({ toolCalls: [PAY('never')] }, readBack));
  const { answer, counts } = await handle.result();
  expect(answer).toContain('Policy refused this call: no payments');
  expect(counts).toMatchObject({ calls: 1, requests: 0, failed: 1 });
});

const changes: [string, Partial<Parameters<typeof recordTool>[1]>][] = [
  ['description', { description: 'Pays twice.' }],
  ['schema', { parameters: { ...TAG_SCHEMA, additionalProperties: true } }],
  ['effect', { effect: 'idempotent' }],
];

test.each(changes)(
  'a tool whose %s changed while a call was parked needs a fresh decision',
  async (what, change) => {
    const first = await fixture.addWorker();
    const again = book.add(
      { toolCalls: [PAY(`changed ${what}`)] },
      { toolCalls: [PAY(`changed ${what}`)] },
      readBack,
    );
    const handle = await fixture.start('payer', again);
    await waitFor(handle, '1.1');
    await first.stop();
    const changed = recordTool(effects, { name: 'pay', safety: 'dangerous', ...change });
    await withAgent(agentWith(changed));
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await waitFor(handle, '2.1');
    expect(await effects.lines(`changed ${what}`)).toEqual([]);
    await decide(handle, { callId: '2.1', decision: 'approved' });
    expect((await handle.result()).answer).toContain(
      'Error [refused]: Refused before it ran: the tool changed',
    );
    expect(await effects.lines(`changed ${what}`)).toHaveLength(1);
  },
);

test('a command that was approved for one folder does not run on a worker with another one', async () => {
  const at = (name: string) => {
    mkdirSync(join(folder(), name));
    return agentWith(...createShellTools({ root: join(folder(), name) }));
  };
  const first = await withAgent(at('a'));
  const call = { name: 'run_command', arguments: { argv: ['touch', 'made'] } };
  const handle = await fixture.start('payer', book.add({ toolCalls: [call] }, readBack));
  await waitFor(handle, '1.1');
  await first.stop();
  await withAgent(at('b'));
  await decide(handle, { callId: '1.1', decision: 'approved' });
  expect((await handle.result()).answer).toContain('or this worker is set up otherwise; ask for it again');
  expect(['a', 'b'].map((name) => readdirSync(join(folder(), name)))).toEqual([[], []]);
});

test('a script that was changed after its command was approved does not run', async () => {
  const script = join(folder(), 'deploy.sh');
  writeFileSync(script, '#!/bin/sh\ntouch shown\n', { mode: 0o755 });
  await withAgent(agentWith(...createShellTools({ root: folder() })));
  const command = { name: 'run_command', arguments: { argv: ['./deploy.sh'] } };
  const handle = await fixture.start(
    'payer',
    book.add({ toolCalls: [command] }, { toolCalls: [command] }, readBack),
  );
  await waitFor(handle, '1.1');
  writeFileSync(script, '#!/bin/sh\ntouch changed\n');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '2.1');
  expect(readdirSync(folder())).toEqual(['deploy.sh']);
  await decide(handle, { callId: '2.1', decision: 'approved' });
  expect((await handle.result()).answer).toContain('Error [conflict]: Conflict: a file changed');
  expect(readdirSync(folder())).toEqual(['changed', 'deploy.sh']);
});

test('a tool that was withdrawn while a call was parked: an error result, and the turn goes on', async () => {
  const first = await fixture.addWorker();
  const script = book.add({ toolCalls: [PAY('gone')] }, (request) => ({
    text: `${toolTexts(request).join()} [${request.tools.map((tool) => tool.function.name).join()}]`,
  }));
  const handle = await fixture.start('payer', script);
  await waitFor(handle, '1.1');
  await first.stop();
  await withAgent(agentWith(look));
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const { answer } = await handle.result();
  expect(answer).toContain('Error [expired]');
  expect(answer).toContain('no worker with the tool pay');
  expect(answer).toContain('[look]');
  expect(await effects.lines('gone')).toEqual([]);
});

test('an agent that was withdrawn while its call was parked: it expires, nothing runs; the turn fails by name', async () => {
  const first = await fixture.addWorker();
  const handle = await fixture.start('payer', book.add({ toolCalls: [PAY('no agent')] }, readBack));
  await waitFor(handle, '1.1');
  await first.stop();
  const other = defineAgent({ name: 'other', instructions: 'do', model: book.model, tools: [pay] });
  await withAgent(other);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const { status } = await until('the turn to end', async () => {
    const description = await handle.describe();
    return description.status.name !== 'RUNNING' && { status: description.status.name };
  });
  expect(status).toBe('FAILED');
  await expect(handle.result()).rejects.toMatchObject({
    cause: {
      message: 'no worker with agent "payer" here: the one that took this has other; nobody came for 1 s',
    },
  });
  expect(await effects.lines('no agent')).toEqual([]);
});

const withAgent = (agent: ReturnType<typeof agentWith>): Promise<RunningWorker> =>
  fixture.addWorker({}, { agents: [agent], agentWait: '1s' });
