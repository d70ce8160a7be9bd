import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { contentDigest } from '../../src/activities/content-digest';
import { createJournal } from '../../src/activities/journal';
import { createMemory } from '../../src/activities/memory';
import { runTool } from '../../src/activities/run-tool';
import type { CallInput, CallOutput } from '../../src/contract/call';
import { digestJson } from '../../src/contract/digest';
import { makeSuccess } from '../../src/contract/make-result';
import type { Effect } from '../../src/contract/tool';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { ToolError, TransportError } from '../../src/tools/errors';
import { createExecutor } from '../../src/tools/executor';
import { createRegistry } from '../../src/tools/registry';

// Failures are what some of these tests are about; the SDK need not tell them as well.
const logger = new DefaultLogger('ERROR');

let directory: string;
let runs: string[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-run-tool-'));
  runs = [];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const makeTool = (effect: Effect, handler: () => unknown = () => 'paid') =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    safety: 'dangerous',
    effect,
    handler: (_, { idempotencyKey }) => {
      runs.push(idempotencyKey);
      return handler();
    },
  });

function makeDeps(tool: ReturnType<typeof makeTool>) {
  const agent = defineAgent({ name: 'a', instructions: 'x', model: scriptedModel([]), tools: [tool] });
  return {
    agents: new Map([['a', agent]]),
    toolNames: new Set(['pay']),
    taskQueue: 'q',
    executor: createExecutor({ registry: createRegistry([]) }),
    memory: createMemory(),
    journal: createJournal(join(directory, 'journal')),
    log: logger,
  };
}

const inputOf = (tool: ReturnType<typeof makeTool>, change: Partial<CallInput> = {}): CallInput => ({
  callId: '1.1',
  id: 'm1',
  tool: 'pay',
  agent: 'a',
  callKey: 'key:1.1',
  generation: 0,
  arguments: { n: 1 },
  argsDigest: digestJson({ n: 1 }),
  toolDigest: tool.digest,
  effect: tool.effect,
  timeoutMs: 1000,
  decision: { decisionId: 'd', decision: 'approved', approver: 'ann' },
  originalRunId: 'test',
  ...change,
});

const run = (
  tool: ReturnType<typeof makeTool>,
  change: Partial<CallInput> = {},
  attempt = 1,
): Promise<CallOutput> =>
  new MockActivityEnvironment(
    { attempt, startToCloseTimeoutMs: 60_000, heartbeatTimeoutMs: 10_000 },
    { logger },
  ).run(() => runTool(makeDeps(tool), inputOf(tool, change)));

describe.each<Effect>(['pure', 'idempotent'])('a call that is %s', (effect) => {
  it('runs with its key and keeps its text with the worker', async () => {
    const output = await run(makeTool(effect));
    expect(output).toMatchObject({
      result: { success: true, content: 'paid' },
      contentDigest: contentDigest('paid'),
    });
    expect(runs).toEqual(['key:1.1:0']);
  });

  it('runs again at another attempt, with the same key', async () => {
    await run(makeTool(effect), {}, 1);
    await run(makeTool(effect), {}, 2);
    expect(runs).toEqual(['key:1.1:0', 'key:1.1:0']);
  });

  it.each([
    [
      'a broken transport',
      () => {
        throw new TransportError('cut');
      },
    ],
    [
      'an error that may be retried',
      () => {
        throw new ToolError('busy', { retryable: true });
      },
    ],
  ])('asks to be run again after %s, and keeps what it has', async (_, handler) => {
    await expect(run(makeTool(effect, handler))).rejects.toMatchObject({
      type: 'countersign.retry',
      nonRetryable: false,
      details: [{ callId: '1.1', success: false }],
    });
  });

  it('takes a throw for a result', async () => {
    const output = await run(
      makeTool(effect, () => {
        throw new Error('no money');
      }),
    );
    expect(output).toMatchObject({
      result: { success: false, error: { code: 'tool', message: 'no money' } },
    });
  });
});

describe('an unsafe call', () => {
  const journal = () => createJournal(join(directory, 'journal'));

  it.each([
    ['another attempt', {}, 2, 'attempt 2'],
    ['a start it cannot rule out', {}, 1, 'could not be read'],
  ])('does not start after %s', async (_, change, attempt, why) => {
    const output = await run(makeTool('unsafe'), change, attempt);
    expect(output).toMatchObject({ inDoubt: { message: expect.stringContaining(why) } });
    expect(runs).toEqual([]);
  });

  it('does not start where this machine had started it', async () => {
    await journal().begin('key:1.1:0');
    expect(await run(makeTool('unsafe'))).toMatchObject({
      inDoubt: { message: expect.stringContaining('this machine') },
    });
    expect(runs).toEqual([]);
  });

  it.each([
    ['gives the outcome that this machine had written', { n: 1 }, { result: { content: 'paid before' } }],
    [
      'does not give the outcome of other arguments, which a reset can lead to',
      { n: 2 },
      { inDoubt: { message: expect.stringContaining('with other arguments') } },
    ],
  ])('%s', async (_, ran, expected) => {
    const head = { id: 'm1', callId: '1.1', tool: 'pay', arguments: ran };
    const result = makeSuccess(
      head,
      { content: 'paid before', contentType: 'text' },
      { timestamp: '2026-01-01T00:00:00Z' },
    );
    await journal().begin('key:1.1:0');
    await journal().end('key:1.1:0', result);
    expect(await run(makeTool('unsafe'), {}, 3)).toMatchObject(expected);
    expect(runs).toEqual([]);
  });

  it('does not start where the journal cannot be used, and says that nothing ran', async () => {
    await writeFile(join(directory, 'journal'), 'a file where the folder should be');
    expect(await run(makeTool('unsafe'))).toMatchObject({
      result: {
        success: false,
        error: { code: 'transport', message: expect.stringContaining('Nothing ran') },
      },
    });
    expect(runs).toEqual([]);
  });
});

describe('nothing runs', () => {
  it.each<[string, Partial<CallInput>, string]>([
    ['with arguments nobody approved', { argsDigest: 'other' }, 'refused'],
    ['when the tool changed', { toolDigest: 'other' }, 'refused'],
    ['when the agent lost the tool', { tool: 'gone' }, 'tool_not_found'],
    ['when the worker lost the agent', { agent: 'gone' }, 'tool_not_found'],
  ])('%s', async (_, change, code) => {
    expect(await run(makeTool('pure'), change)).toMatchObject({
      result: { success: false, error: { code } },
    });
    expect(runs).toEqual([]);
  });

  it('without a decision', async () => {
    const tool = makeTool('pure');
    const { decision: _, ...input } = inputOf(tool);
    const output = await new MockActivityEnvironment().run(() => runTool(makeDeps(tool), input));
    expect(output).toMatchObject({ result: { success: false, error: { code: 'refused' } } });
    expect(runs).toEqual([]);
  });
});

it('tells the model what a person changed, before the result', async () => {
  const change = {
    proposed: { n: 9 },
    decision: {
      decisionId: 'd',
      decision: 'modified' as const,
      approver: 'ann',
      reason: 'less',
      edit: { approver: 'ann', reason: 'less' },
    },
  };
  const output = await run(makeTool('pure'), change);
  expect(output).toMatchObject({
    result: { content: expect.stringMatching(/^\[ann changed the arguments[^]+n: 9 → 1[^]+\]\n\npaid$/) },
  });
});
