import type { PolicyAnswer } from '../../src/tools/types';
import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { readBack, scriptBook, toolTexts } from '../support/script-book';
import { decide, openOf, waitFor } from '../support/turns';
import { startBench, until, type TestBench } from '../support/worker';

const effects = useEffects();
const book = scriptBook();
const pay = recordTool(effects, { name: 'pay', safety: 'dangerous' });
const look = recordTool(effects, { name: 'look' });

/** What the policy says now; tests change it while a call is parked. */
let policy: () => PolicyAnswer = () => 'run';
const agentWith = (...tools: (typeof pay)[]) =>
  defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools, policy: () => policy() });

let bench: TestBench;
beforeEach(async () => {
  policy = () => 'run';
  bench = await startBench({ workers: 0, agents: [agentWith(pay, look)] });
});
afterEach(() => bench.stop());

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
])(
  'case 6: a policy that %s by the time of the start: refused, nothing runs',
  async (what, tightened, told) => {
    await bench.addWorker();
    const handle = await bench.start('payer', book.add({ toolCalls: [PAY(`policy ${what}`)] }, readBack));
    await waitFor(handle, '1.1');
    policy = tightened;
    await decide(handle, { callId: '1.1', decision: 'approved' });
    const { answer, status } = await handle.result();
    expect(status).toBe('answered');
    expect(answer).toContain(`Error [refused]`);
    expect(answer).toContain(told);
    expect(answer).not.toContain('secret');
    expect(await effects.lines(`policy ${what}`)).toEqual([]);
  },
);

test('a policy tightens safety: a safe call asks; it cannot loosen it: a dangerous one still asks', async () => {
  await bench.addWorker();
  policy = () => ({ decision: 'ask', reason: 'first time' });
  const calls = [{ name: 'look', arguments: { tag: 'tight' } }, PAY('tight')];
  const handle = await bench.start('payer', book.add({ toolCalls: calls }, readBack));
  await waitFor(handle, '1.2');
  expect((await openOf(handle))?.count).toBe(2);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await decide(handle, { callId: '1.2', decision: 'denied' });
  await handle.result();
  expect(await effects.lines('tight')).toEqual(['look tight']);
});

test('a policy that refuses at once: the model is told, nobody is asked', async () => {
  await bench.addWorker();
  policy = () => ({ decision: 'refuse', reason: 'no payments' });
  const handle = await bench.start('payer', book.add({ toolCalls: [PAY('never')] }, readBack));
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
  'case 6: a tool whose %s changed while a call was parked needs a fresh decision',
  async (what, change) => {
    const first = await bench.addWorker();
    const again = book.add(
      { toolCalls: [PAY(`changed ${what}`)] },
      { toolCalls: [PAY(`changed ${what}`)] },
      readBack,
    );
    const handle = await bench.start('payer', again);
    await waitFor(handle, '1.1');
    await first.stop();
    const changed = recordTool(effects, { name: 'pay', safety: 'dangerous', ...change });
    await bench.addWorker({ config: configOf(agentWith(changed)) });
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

test('case 6: a tool that was withdrawn while a call was parked: an error result, and the turn goes on', async () => {
  const first = await bench.addWorker();
  const script = book.add({ toolCalls: [PAY('gone')] }, (request) => ({
    text: `${toolTexts(request).join()} [${request.tools.map((tool) => tool.function.name).join()}]`,
  }));
  const handle = await bench.start('payer', script);
  await waitFor(handle, '1.1');
  await first.stop();
  await bench.addWorker({ config: configOf(agentWith(look)) });
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const { answer } = await handle.result();
  expect(answer).toContain('Error [tool_not_found]');
  expect(answer).toContain('[look]');
  expect(await effects.lines('gone')).toEqual([]);
});

test('an agent that was withdrawn while its call was parked: refused, not in doubt; the turn fails by name', async () => {
  const first = await bench.addWorker();
  const handle = await bench.start('payer', book.add({ toolCalls: [PAY('no agent')] }, readBack));
  await waitFor(handle, '1.1');
  await first.stop();
  const other = defineAgent({ name: 'other', instructions: 'do', model: book.model, tools: [pay] });
  await bench.addWorker({ config: configOf(other) });
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const { status } = await until('the turn to end', async () => {
    const description = await handle.describe();
    return description.status.name !== 'RUNNING' && { status: description.status.name };
  });
  expect(status).toBe('FAILED');
  await expect(handle.result()).rejects.toMatchObject({
    cause: { message: 'this worker has no agent "payer"; it has: other' },
  });
  expect(await effects.lines('no agent')).toEqual([]);
});

const configOf = (agent: ReturnType<typeof agentWith>) =>
  defineConfig({
    agents: [agent],
    taskQueue: bench.taskQueue,
    stateDir: bench.stateDir,
    log: { calls: false },
  });
