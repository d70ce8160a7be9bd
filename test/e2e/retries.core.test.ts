import { defineAgent } from '../../src/tools/define-agent';
import { ToolError, TransportError } from '../../src/tools/errors';
import type { ToolOptions } from '../../src/tools/define-tool';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { scheduledInputs, transcriptOf } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const keys: string[] = [];
let fixture: Fixture;

const transport = () => new TransportError('the line broke');
const busy = () => new ToolError('busy', { retryable: true });
const wrong = () => new ToolError('wrong account');

/** Fails until its attempt is this one. */
const failing = (name: string, options: Partial<ToolOptions>, until: number, failure: () => Error) =>
  recordTool(
    effects,
    {
      name,
      ...(options.effect === 'unsafe' ? {} : { retry: { initialInterval: 1, maximumAttempts: 4 } }),
      ...pick(options),
    },
    (_, { attempt, idempotencyKey }) => {
      keys.push(`${name} ${idempotencyKey}`);
      if (attempt < until) throw failure();
    },
  );

const pick = ({ effect, safety }: Partial<ToolOptions>) => ({
  ...(effect === undefined ? {} : { effect }),
  ...(safety === undefined ? {} : { safety }),
});

beforeAll(async () => {
  const tools = [
    failing('pure_transport', {}, 3, transport),
    failing('pure_busy', {}, 2, busy),
    failing('pure_wrong', {}, 2, wrong),
    failing('pure_never', {}, 99, transport),
    failing('idempotent_transport', { safety: 'cautious', effect: 'idempotent' }, 3, transport),
    slowAgain('paused'),
    failing('unsafe_busy', { safety: 'cautious', effect: 'unsafe' }, 2, busy),
  ];
  fixture = await startFixture({
    agents: [defineAgent({ name: 'agent', instructions: 'do', model: book.model, tools })],
  });
});

/** Fails at its first attempt, which may have had its effect by then, and waits long for the second. */
const slowAgain = (name: string) =>
  recordTool(
    effects,
    {
      name,
      ...{ safety: 'cautious', effect: 'idempotent', startWithin: '2s' },
      retry: { initialInterval: '1s', maximumAttempts: 3 },
    },
    (_, { attempt }) => {
      if (attempt === 1) throw transport();
    },
  );

const MAY_HAVE_RUN = 'An earlier attempt of it may have run.';

test.each([
  ['pure_transport', 3, 'pure_transport did'],
  ['pure_busy', 2, 'pure_busy did'],
  ['pure_wrong', 1, 'Error [tool]: wrong account'],
  ['pure_never', 4, 'Error [transport]: the line broke'],
  ['idempotent_transport', 3, 'idempotent_transport did'],
  ['unsafe_busy', 1, 'Error [tool]: busy'],
])('%s: the handler runs %d times, always with the same key', async (name, runs, told) => {
  const call = { name, arguments: { tag: 'retry' } };
  const handle = await fixture.start('agent', book.add({ toolCalls: [call] }, readBack));
  expect((await handle.result()).answer).toContain(told);
  expect(await effects.lines(`${name} retry`)).toHaveLength(runs);
  const [input] = await scheduledInputs(handle, name);
  const own = keys.filter((key) => key.startsWith(`${name} `));
  expect(own).toEqual(Array(runs).fill(`${name} ${String(input?.['callKey'])}:0`));
});

const start = (on: Fixture, tag: string) =>
  on.start('agent', book.add({ toolCalls: [{ name: 'paused', arguments: { tag } }] }, readBack));

test('cancelled in the pause before the second attempt: the record does not say that nothing ran', async () => {
  const handle = await start(fixture, 'cancelled');
  await until('an effect', async () => (await effects.lines('cancelled')).length === 1);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  const told = JSON.stringify(await transcriptOf(handle));
  expect(await effects.lines('cancelled')).toHaveLength(1);
  expect(told).not.toContain('Nothing ran');
});

test('no worker for the second attempt: the model does not read that nothing ran', async () => {
  const agents = [
    defineAgent({ name: 'agent', instructions: 'do', model: book.model, tools: [slowAgain('paused')] }),
  ];
  const own = await startFixture({ agents, workers: 0 });
  const first = await own.addWorker();
  const handle = await start(own, 'alone');
  await until('an effect', async () => (await effects.lines('alone')).length === 1);
  await first.stop();
  const call = async () => (await handle.describe()).raw.pendingActivities ?? [];
  await until('its time is over', async () => (await call()).length === 0);
  await own.addWorker();
  const { answer } = await handle.result();
  expect(await effects.lines('alone')).toHaveLength(1);
  expect(answer).toContain(MAY_HAVE_RUN);
  expect(answer).not.toContain('Nothing ran');
});

test('its tool gone at the second attempt: the model does not read that nothing ran', async () => {
  const agentOf = (name: string) =>
    defineAgent({ name: 'agent', instructions: 'do', model: book.model, tools: [slowAgain(name)] });
  const own = await startFixture({ agents: [agentOf('paused')], workers: 0 });
  const first = await own.addWorker();
  const handle = await start(own, 'gone');
  await until('an effect', async () => (await effects.lines('gone')).length === 1);
  await first.stop();
  await own.addWorker({}, { agents: [agentOf('other')] });
  const { answer } = await handle.result();
  expect(await effects.lines('gone')).toHaveLength(1);
  expect(answer).toContain(MAY_HAVE_RUN);
  expect(answer).not.toContain('Nothing ran');
});
