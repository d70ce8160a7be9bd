import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { burst } from '../../../src/activities/burst/burst';
import { createMemory } from '../../../src/activities/conversation';
import type { ActivityDeps } from '../../../src/activities/deps';
import type { BurstInput, BurstOutput } from '../../../src/contract/burst/burst';
import { defined } from '../../../src/contract/defined';
import { readBurstOutput } from '../../../src/contract/burst/read';
import { ModelError } from '../../../src/models/model';
import { scriptedModel, type ScriptedStep } from '../../../src/models/scripted';
import type { AgentOptions } from '../../../src/tools/define-agent';
import { defineTool } from '../../../src/tools/define-tool';
import { ToolError } from '../../../src/tools/errors';
import { workerWith } from '../fake-worker';

/** Something that a test waits for. */
function makeGate(): { opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
let gate = makeGate();
const parameters = { type: 'object', properties: { n: { type: 'number' } } } as const;
let failures = 0;
let handled: { n: unknown; attempt: number; key: string }[] = [];
beforeEach(() => {
  gate = makeGate();
  handled = [];
  failures = 0;
});

const tools = [
  defineTool({
    ...{ name: 'look', description: 'Looks.', parameters },
    handler: ({ n }, { attempt, idempotencyKey }) => {
      handled.push({ n, attempt, key: idempotencyKey });
      return `seen ${String(n)}`;
    },
  }),
  defineTool({
    ...{ name: 'shaky', description: 'Fails at first.', parameters },
    retry: { maximumAttempts: 3, initialInterval: 1 },
    handler: (_, { attempt }) => {
      if (attempt <= failures) throw new ToolError(`no ${attempt}`, { retryable: true });
      return `attempt ${attempt}`;
    },
  }),
  defineTool({
    ...{ name: 'wait', description: 'Waits.', parameters },
    handler: async (_, { signal }) => {
      gate.open();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return 'late';
    },
  }),
  defineTool({ name: 'put', description: 'Puts.', parameters, effect: 'idempotent', handler: () => 'put' }),
  defineTool({ name: 'big', description: 'Much.', parameters, outputLimit: 1_048_576, handler: () => BIG }),
];
const BIG = 'x'.repeat(1_000_000);

const none = { tokens: 0, steps: 0, time: 0 };
const call = (name: string, n = 1) => ({ name, arguments: { n } });
const end: ScriptedStep = { text: 'done' };
const looks = (count: number): ScriptedStep[] =>
  Array.from({ length: count }, (_, n) => ({ toolCalls: [call('look', n)] }));

interface Given {
  input?: Partial<BurstInput['burst']>;
  tried?: BurstInput['tried'];
  agent?: Partial<AgentOptions>;
  deps?: Partial<ActivityDeps>;
  attempt?: number;
  startToCloseTimeoutMs?: number;
  heartbeatDetails?: unknown;
  during?: (environment: MockActivityEnvironment) => Promise<void>;
}

/** One attempt of a burst at the beginning of a turn, and the details of its heartbeats. */
async function run(steps: readonly ScriptedStep[], given: Given = {}): Promise<BurstOutput> {
  const { input, tried, agent: more, deps, attempt = 1, heartbeatDetails, during } = given;
  const { startToCloseTimeoutMs = 600_000 } = given;
  const all = workerWith({ model: scriptedModel(steps), tools, ...more }, deps);
  const info = { attempt, heartbeatDetails, startToCloseTimeoutMs, heartbeatTimeoutMs: 10_000 };
  const environment = new MockActivityEnvironment(info, { logger: all.log });
  const output: Promise<BurstOutput> = environment.run(() =>
    burst(all, {
      ...{ agent: 'a', step: 1, words: ['go'], results: [], droppedBefore: 0 },
      ...defined({ tried }),
      burst: {
        ...{ commitMs: 60_000, size: 100, limits: [], originalRunId: 'r' },
        repeated: { calls: '', results: '', times: 0, refused: 0 },
        ...input,
      },
    }),
  );
  await during?.(environment);
  return output;
}

const shape = ({ steps }: BurstOutput): string =>
  steps.map(({ calls }) => (calls === undefined ? 'open' : calls.length)).join(' ');

test.each<[string, ScriptedStep[], string, Given?]>([
  ['up to the answer', [...looks(3), end], '1 1 1 open'],
  ['up to the first step, where each is committed', looks(3), '1', { input: { commitMs: 0 } }],
  ['up to a call with an effect', [...looks(2), { toolCalls: [call('look'), call('put')] }], '1 1 open'],
  ['up to what the policy asks about', looks(2), 'open', { agent: { policy: () => 'ask' } }],
  ['up to what the policy refuses', looks(2), 'open', { agent: { policy: () => 'refuse' } }],
  ['past calls that are not valid', [{ toolCalls: [{ name: 'nothing' }] }, end], '0 open'],
  ['up to the limit of steps', looks(9), '1 1 1', { agent: { limits: { steps: 3 } } }],
  [
    'up to the crossing of a budget',
    looks(9),
    '1 1',
    { input: { limits: [{ budget: { steps: 5 }, spent: { steps: 3, tokens: 0, time: 0 } }] } },
  ],
  [
    'up to steps that are alike',
    Array.from({ length: 9 }, () => ({ toolCalls: [call('look')] })),
    '1 1 1 open',
    { agent: { limits: { repeats: 3 } } },
  ],
])('a burst goes %s', async (...[, steps, expected, given]) => {
  const output = await run(steps, given);
  expect(shape(output)).toBe(expected);
  expect(readBurstOutput(JSON.parse(JSON.stringify(output)))).toEqual(output);
});

test.each<[string, Given]>([
  [
    'that the first reply sets',
    { agent: { budget: { steps: 2 } }, input: { limits: [{ budget: {}, spent: none, sets: 'budget' }] } },
  ],
  [
    'of its starter, where the agent allows more',
    {
      agent: { budget: { steps: 9 } },
      input: { limits: [{ budget: { steps: 2 }, spent: none, sets: 'budget' }] },
    },
  ],
])('a burst goes up to the budget %s', async (_, given) => {
  expect(shape(await run(looks(9), given))).toBe('1 1');
});

test('a call that may take longer than the activity has left is left to the turn', async () => {
  const slow = defineTool({
    name: 'slow',
    description: 'x',
    parameters,
    timeout: '9m',
    retry: { maximumAttempts: 1 },
    handler: () => 'x',
  });
  const steps: ScriptedStep[] = [{ toolCalls: [call('slow')] }, end];
  expect(shape(await run(steps, { agent: { tools: [slow] } }))).toBe('1 open');
  const left = { agent: { tools: [slow] }, startToCloseTimeoutMs: 540_000 };
  expect(shape(await run(steps, left))).toBe('open');
});

test('each call has the key and the attempt of its own, and the model reads what came before', async () => {
  const seen: unknown[] = [];
  const last: ScriptedStep = ({ messages }) => {
    seen.push(...messages.map(({ role, content }) => `${role} ${content}`));
    return end;
  };
  const output = await run([...looks(2), last], { deps: { memory: createMemory(1) } });
  expect(handled.map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(handled.map(({ key }) => key)).toEqual(
    output.steps.slice(0, 2).map(({ reply }, n) => `${reply.replyId}:${n + 1}.1:0`),
  );
  // A worker that remembers nothing would have to ask the turn, which does not have these steps.
  expect(seen).toEqual(['user go', 'assistant ', 'tool seen 0', 'assistant ', 'tool seen 1']);
});

test.each([
  [2, { attempts: 3, output: { result: { success: true, content: 'attempt 3' } } }],
  [9, { attempts: 3, output: { result: { success: false, error: { code: 'tool', message: 'no 3' } } } }],
])('a call that fails %i times is tried as often as its tool says', async (times, expected) => {
  failures = times;
  const { steps } = await run([{ toolCalls: [call('shaky')] }, end]);
  expect(steps[0]?.calls).toMatchObject([expected]);
});

test('results that do not fit are left out, so that the turn runs their calls', async () => {
  const output = await run([{ toolCalls: [call('big'), call('big', 2)] }, end]);
  expect(shape(output)).toBe('open');
});

const busy = new ModelError('server', 'busy', { retryable: true, retryAfterMs: 5_000 });

test('a model that fails in its first step fails the burst, as a think', async () => {
  await expect(run([busy])).rejects.toMatchObject({
    type: 'countersign.model.server',
    nextRetryDelay: 5_000,
  });
  await expect(run([busy])).rejects.toBeInstanceOf(ApplicationFailure);
});

test('a model that fails later ends the burst, and what is there is kept', async () => {
  const output = await run([...looks(2), busy]);
  expect(shape(output)).toBe('1 1');
  expect(output.failed).toMatchObject({ message: 'scripted: busy', waitMs: 5_000 });
  expect(readBurstOutput(JSON.parse(JSON.stringify(output)))).toEqual(output);
});

describe('the activity after a burst whose model failed', () => {
  const limits = (modelRetryFor: string) => ({ agent: { limits: { modelRetryFor } } });
  const refused = new ModelError('auth', 'no key', { retryable: false });
  const other = {
    id: 'other',
    generate: () => Promise.resolve({ text: 'done', toolCalls: [], finishReason: 'stop' }),
  };
  const left = async (error: ModelError, given: Given = {}): Promise<BurstInput['tried']> =>
    (await run([...looks(1), error], given)).failed?.tried;

  test('counts the time and the attempts that the step has had', async () => {
    const quick = new ModelError('server', 'busy', { retryable: true });
    const again = run([quick], { ...limits('6s'), tried: await left(busy, limits('6s')) });
    // 5 s are over, and the second wait is of two seconds.
    await expect(again).rejects.toThrow(/given up after 2 attempts in 5\.\d s; modelRetryFor is 6\.0 s/);
  });

  test('goes on so in attempts that heartbeats say nothing of', async () => {
    const tried = await left(busy);
    const beats: unknown[] = [];
    const again = run([busy], {
      ...{ tried, attempt: 2, heartbeatDetails: { text: 'half a wo', step: 2 } },
      during: async (environment) => void environment.on('heartbeat', (details) => beats.push(details)),
    });
    await expect(again).rejects.toThrow('busy');
    expect(beats.at(-1)).toMatchObject({ failures: 2, open: false });
  });

  test('asks the model that is next', async () => {
    const given = { agent: { fallback: { models: [other], after: '1s' } } };
    const output = await run([busy], { ...given, tried: await left(busy, given) });
    expect(output.steps[0]?.reply.model).toBe('other');
  });

  test('fails where the model failed for good, without asking again', async () => {
    const output = await run([...looks(1), refused]);
    expect(output.failed).toMatchObject({ message: 'scripted: no key', isLast: true });
    const again = run([end], { tried: output.failed?.tried });
    await expect(again).rejects.toMatchObject({
      ...{ type: 'countersign.model.auth', message: 'scripted: no key', nonRetryable: true },
    });
  });

  test.each<[string, (tried: BurstInput['tried']) => unknown]>([
    ['of another run, such as before a reset', (tried) => ({ ...tried, runId: 'another' })],
    ['of another shape', () => ({ runId: 7, tries: [], failure: 'x' })],
    ['whose failure is of no model', (tried) => ({ ...tried, failure: { type: 'x', message: 'y' } })],
    ['with negative times', ({ runId } = {}) => ({ runId, tries: { spentMs: -1 } })],
    ['with nothing', () => ({})],
  ])('asks anew after what is left %s', async (_, changed) => {
    const tried = changed(await left(refused)) as BurstInput['tried'];
    expect(shape(await run([end], { tried }))).toBe('open');
  });
});

test('what a failed attempt leaves is what the next one finds', async () => {
  const beats: unknown[] = [];
  const failed = run([busy], {
    attempt: 2,
    heartbeatDetails: { failures: 3, spentMs: 7, empty: 0, emptySince: 0, lost: 1, open: false, at: 0 },
    during: async (environment) => void environment.on('heartbeat', (details) => beats.push(details)),
  });
  await expect(failed).rejects.toThrow('busy');
  expect(beats.at(-1)).toMatchObject({ failures: 4, lost: 1, open: false });
});

test('workers that end in one burst after the other are counted, wherever they end', async () => {
  const heartbeatDetails = {
    ...{ failures: 0, spentMs: 0, empty: 0, emptySince: 0, lost: 9, open: true, at: 0 },
  };
  await expect(run([end], { attempt: 11, heartbeatDetails })).rejects.toThrow('10 workers ended');
});

test.each<[string, ScriptedStep[], string]>([
  ['keeps the steps before', [...looks(2), { toolCalls: [call('wait')] }], '1 1 open'],
  ['keeps the reply whose call it gives up', [{ toolCalls: [call('wait')] }], 'open'],
])('a cancelled burst %s', async (_, steps, expected) => {
  const output = await run(steps, {
    during: async (environment) => {
      await gate.opened;
      environment.cancel('CANCELLED');
    },
  });
  expect(shape(output)).toBe(expected);
  expect(output).not.toHaveProperty('failed', expect.anything());
});

test('a burst that is cancelled before its first reply is cancelled', async () => {
  const asked = makeGate();
  const never: ScriptedStep = async ({ signal }) => {
    asked.open();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return end;
  };
  const during = async (environment: MockActivityEnvironment) => {
    await asked.opened;
    environment.cancel('CANCELLED');
  };
  await expect(run([never], { during })).rejects.toBeInstanceOf(CancelledFailure);
});
