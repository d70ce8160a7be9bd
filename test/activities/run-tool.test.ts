import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { sha256 } from '../../src/system/sha256';
import { createActivities } from '../../src/activities/index';
import { createJournal } from '../../src/activities/journal';
import { retryFailure } from '../../src/activities/leave-to-another';
import { runTool } from '../../src/activities/run-tool';
import type { CallInput, CallOutput } from '../../src/contract/call';
import { digestJson, seenDigestOf } from '../../src/contract/digest';
import { makeFailure, makeSuccess } from '../../src/contract/result';
import type { Effect } from '../../src/contract/tool';
import { defineTool } from '../../src/tools/define-tool';
import { nothingDone, ToolError, TransportError } from '../../src/tools/errors';
import { PAY_INPUT } from '../support/calls';
import { workerWith } from './fake-worker';

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

const makeDeps = (tool: ReturnType<typeof makeTool>) =>
  workerWith({ tools: [tool] }, { journal: createJournal(join(directory, 'journal')) });

const SEEN = seenDigestOf({ argsDigest: digestJson({ n: 1 }) });

const inputOf = (tool: ReturnType<typeof makeTool>, change: Partial<CallInput> = {}): CallInput => ({
  ...PAY_INPUT,
  arguments: { n: 1 },
  argsDigest: digestJson({ n: 1 }),
  toolDigest: tool.digest,
  effect: tool.effect,
  decision: { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: SEEN },
  originalRunId: '00000000-0000-0000-0000-000000000000',
  ...change,
});

const run = (
  tool: ReturnType<typeof makeTool>,
  change: Partial<CallInput> = {},
  attempt = 1,
): Promise<CallOutput> => {
  const deps = makeDeps(tool);
  return new MockActivityEnvironment(
    { attempt, startToCloseTimeoutMs: 60_000, heartbeatTimeoutMs: 10_000 },
    { logger: deps.log },
  ).run(() => runTool(deps, inputOf(tool, change)));
};

describe.each<Effect>(['pure', 'idempotent'])('a call that is %s', (effect) => {
  it('runs with its key and keeps its text with the worker', async () => {
    const output = await run(makeTool(effect));
    expect(output).toMatchObject({
      result: { success: true, content: 'paid' },
      contentDigest: sha256('paid'),
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

  const changes: [string, Partial<CallInput>][] = [
    ['changed', { toolDigest: 'other' }],
    ['has other arguments than approved', { argsDigest: 'other' }],
    ['is gone', { tool: 'gone' }],
    ['is gone with its agent', { agent: 'gone' }],
    ['is safe to run again by now', { toolDigest: 'other', effect: 'unsafe' }],
  ];
  it.each(changes)('is in doubt, not refused, where it had started and its tool %s', async (_, change) => {
    await journal().begin('key:1.1:0');
    const tool = makeTool(change.effect === undefined ? 'unsafe' : 'pure');
    expect(await run(tool, { effect: 'unsafe', ...change })).toEqual({
      inDoubt: { message: 'this machine had started it before' },
    });
    expect(runs).toEqual([]);
  });

  it.each(changes)('gives the outcome of an earlier start, even where its tool %s', async (_, change) => {
    const head = { id: 'm1', callId: '1.1', tool: 'pay', arguments: { n: 1 } };
    const paid = { content: 'paid before', contentType: 'text' };
    await journal().begin('key:1.1:0');
    await journal().end('key:1.1:0', makeSuccess(head, paid, { timestamp: '2026-01-01T00:00:00Z' }));
    expect(await run(makeTool('unsafe'), change)).toMatchObject({ result: { content: 'paid before' } });
  });

  it('is in doubt where it had started and lands on a worker that does not know its tool', async () => {
    await journal().begin('key:1.1:0');
    const tool = makeTool('unsafe');
    const { default: unknown } = createActivities({ ...makeDeps(tool), toolNames: new Set<string>() });
    const landed = (input: unknown): Promise<unknown> =>
      new MockActivityEnvironment({ activityType: 'pay' }).run(async () => unknown?.(input as never));
    expect(await landed(inputOf(tool))).toEqual({
      inDoubt: { message: 'this machine had started it before' },
    });
    expect(await landed(inputOf(makeTool('pure')))).toEqual({
      notHere: expect.stringContaining('on this queue'),
    });
    for (const other of [undefined, 'text', { effect: 'unsafe' }])
      await expect(landed(other)).rejects.toMatchObject({ type: 'NotFoundError' });
    expect(runs).toEqual([]);
  });

  it('asks the server before it says that nothing ran, where the journal cannot be read', async () => {
    await writeFile(join(directory, 'journal'), 'a file where the folder should be');
    expect(await run(makeTool('unsafe'), {}, 2)).toMatchObject({
      inDoubt: { message: expect.stringContaining('attempt 2') },
    });
  });

  it('is in doubt where neither the journal nor the server can be asked', async () => {
    await writeFile(join(directory, 'journal'), 'a file where the folder should be');
    expect(await run(makeTool('unsafe'))).toMatchObject({
      inDoubt: { message: expect.stringContaining('could not be read') },
    });
    expect(runs).toEqual([]);
  });
});

describe('nothing runs', () => {
  it.each<[string, Partial<CallInput>, string]>([
    ['with arguments nobody approved', { argsDigest: 'other' }, 'refused'],
    ['when the tool changed', { toolDigest: 'other' }, 'refused'],
  ])('%s', async (_, change, code) => {
    expect(await run(makeTool('pure'), change)).toMatchObject({
      result: { success: false, error: { code } },
    });
    expect(runs).toEqual([]);
  });

  it.each<[string, Partial<CallInput>, string]>([
    ['the tool', { tool: 'gone' }, 'no worker with the tool gone of agent "a" here'],
    ['the agent', { agent: 'gone' }, 'no worker with agent "gone" here: the one that took this has a'],
  ])('on a worker that lacks %s: the call goes back to the turn', async (_, change, lack) => {
    expect(await run(makeTool('pure'), change)).toEqual({ notHere: expect.stringContaining(lack) });
    expect(runs).toEqual([]);
  });

  it.each<[string, Partial<CallInput>, string]>([
    ['the tool changed', { toolDigest: 'other' }, 'the tool changed since this call was prepared'],
    ['the arguments are not those approved', { argsDigest: 'other' }, 'the arguments are not those'],
  ])('at attempt 2, where %s: an earlier attempt may have run', async (_, change, why) => {
    const messageOf = async (attempt: number): Promise<string | undefined> => {
      const output = await run(makeTool('idempotent'), change, attempt);
      return 'result' in output ? output.result.error?.message : undefined;
    };
    expect(await messageOf(1)).toMatch(/ Nothing ran\.$/);
    const again = await messageOf(2);
    expect(again).toContain(why);
    expect(again).toMatch(/ An earlier attempt of it may have run\.$/);
    expect(again).not.toContain('Nothing ran');
    expect(runs).toEqual([]);
  });

  it.each<[string, Partial<CallInput>]>([
    ['the tool changed', { toolDigest: 'other' }],
    ['the arguments are not those approved', { argsDigest: 'other' }],
  ])(
    'in a run that a person asked for, where %s: the run before may have had its effect',
    async (_, change) => {
      const output = await run(makeTool('idempotent'), { ...change, generation: 1 });
      expect(output).toMatchObject({
        result: { error: { message: expect.stringMatching(/An earlier attempt of it may have run\.$/) } },
      });
      expect(JSON.stringify(output)).not.toMatch(/nothing ran/i);
      expect(runs).toEqual([]);
    },
  );

  it('says of a failed call that a person let run again that the first run may have taken effect', async () => {
    const tool = makeTool('idempotent', () => {
      throw new ToolError('the MCP server has ended');
    });
    const contentOf = async (generation: number): Promise<string | undefined> => {
      const output = await run(tool, { generation });
      return 'result' in output ? output.result.content : undefined;
    };
    expect(await contentOf(1)).toMatch(/has ended.*An earlier attempt of it may have run\.$/s);
    expect(await contentOf(0)).not.toContain('may have run');
  });

  it.each<[string, number, Partial<CallInput>, RegExp]>([
    ['the first attempt', 1, {}, / Nothing ran\.$/],
    ['attempt 2', 2, {}, / An earlier attempt of it may have run\.$/],
    ['a run that a person asked for', 1, { generation: 1 }, / An earlier attempt of it may have run\.$/],
    [
      'a worker that got it from one that is gone',
      1,
      { mayHaveRun: true },
      / An earlier attempt of it may have run\.$/,
    ],
  ])('says of %s only what it knows, where the tool cannot start', async (_, attempt, change, end) => {
    const tool = makeTool('idempotent', () => {
      throw nothingDone('There is no sandbox here. Nothing ran.');
    });
    const output = await run(tool, change, attempt);
    expect('result' in output ? output.result.error?.message : undefined).toMatch(end);
    expect(output).toMatchObject({ result: { content: expect.stringMatching(end) } });
  });

  it.each<[string, Effect, number, true | undefined]>([
    ['the first attempt', 'idempotent', 1, undefined],
    ['a further attempt', 'idempotent', 2, true],
  ])(
    'where people have to be asked again at %s, the turn learns whether it may have run',
    async (_, effect, attempt, mayHaveRun) => {
      const authority = {
        ...{
          fileDigest: 'f',
          ruleDigest: 'r',
          requesters: [],
          people: [{ name: 'bob', groups: [], delegates: [] }],
        },
        rule: {
          ...{
            name: 'r',
            then: 'ask' as const,
            rosters: [['bob']],
            need: 1,
            groups: [],
            notRequester: false,
          },
          ...{ denyNeeds: 1, assurance: 'claimed' as const },
        },
      };
      const output = await run(makeTool(effect), { authority }, attempt);
      expect(output).toHaveProperty('askAgain');
      expect('askAgain' in output ? output.mayHaveRun : 'other').toBe(mayHaveRun);
    },
  );

  it.each<[string, Partial<CallInput>]>([
    ['the tool', { tool: 'gone' }],
    ['the agent', { agent: 'gone' }],
  ])('at attempt 2, on a worker that lacks %s: it is left to another worker', async (_, change) => {
    await expect(run(makeTool('idempotent'), change, 2)).rejects.toMatchObject({
      type: 'countersign.retry',
      nonRetryable: false,
      details: [{ error: { message: expect.stringMatching(/An earlier attempt of it may have run\.$/) } }],
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

it('a call that may run again keeps its result so far', () => {
  const head = { id: 'm1', callId: '1.1', tool: 'pay', arguments: {} };
  const result = makeFailure(
    head,
    { code: 'transport', message: 'cut' },
    { timestamp: '2026-01-01T00:00:00.000Z' },
  );
  expect(retryFailure(result)).toMatchObject({ message: 'cut', nonRetryable: false, details: [result] });
});

it('tells the model what a person changed, before the result', async () => {
  const change = {
    proposed: { n: 9 },
    decision: {
      decisionId: 'd',
      decision: 'modified' as const,
      approver: 'ann',
      seenDigest: SEEN,
      reason: 'less',
      edit: { approver: 'ann', reason: 'less' },
    },
  };
  const output = await run(makeTool('pure'), change);
  expect(output).toMatchObject({
    result: { content: expect.stringMatching(/^\[ann changed the arguments[^]+n: 9 → 1[^]+\]\n\npaid$/) },
  });
});

it('asks the person again whose arguments only the tool itself can refuse', async () => {
  const strict = defineTool({
    ...{ name: 'pay', description: 'Pays.', safety: 'dangerous' as const },
    effect: 'idempotent',
    parameters: z.object({ n: z.number().refine((n) => n !== 1, 'not one') }),
    handler: () => void runs.push('ran'),
  });
  const decision = { decisionId: 'd', decision: 'modified' as const, approver: 'ann', seenDigest: SEEN };
  const askAgain = 'the new arguments do not fit: /n: not one';
  expect(await run(strict, { decision, secret: 's' })).toEqual({ askAgain, secret: 's' });
  expect(await run(strict)).toMatchObject({ result: { error: { code: 'validation' } } });
  expect(runs).toEqual([]);
});
