import { defineAgent } from '../../src/tools/define-agent';
import { ToolError, TransportError } from '../../src/tools/errors';
import type { ToolOptions } from '../../src/tools/types';
import { recordTool, useEffects } from '../support/effects';
import { readBack, scriptBook } from '../support/script-book';
import { scheduledInputs } from '../support/turns';
import { startBench, type TestBench } from '../support/worker';

const effects = useEffects();
const book = scriptBook();
const keys: string[] = [];
let bench: TestBench;

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
    failing('unsafe_busy', { safety: 'cautious', effect: 'unsafe' }, 2, busy),
  ];
  bench = await startBench({
    agents: [defineAgent({ name: 'agent', instructions: 'do', model: book.model, tools })],
  });
});

afterAll(() => bench.stop());

test.each([
  ['pure_transport', 3, 'pure_transport did'],
  ['pure_busy', 2, 'pure_busy did'],
  ['pure_wrong', 1, 'Error [tool]: wrong account'],
  ['pure_never', 4, 'Error [transport]: the line broke'],
  ['idempotent_transport', 3, 'idempotent_transport did'],
  ['unsafe_busy', 1, 'Error [tool]: busy'],
])('%s: the handler runs %d times, always with the same key', async (name, runs, told) => {
  const call = { name, arguments: { tag: 'retry' } };
  const handle = await bench.start('agent', book.add({ toolCalls: [call] }, readBack));
  expect((await handle.result()).answer).toContain(told);
  expect(await effects.lines(`${name} retry`)).toHaveLength(runs);
  const [input] = await scheduledInputs(handle, name);
  const own = keys.filter((key) => key.startsWith(`${name} `));
  expect(own).toEqual(Array(runs).fill(`${name} ${String(input?.['callKey'])}:0`));
});
