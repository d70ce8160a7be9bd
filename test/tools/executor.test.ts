import fc from 'fast-check';
import { z } from 'zod';
import type { JsonObject } from '../../src/contract/json';
import type { Approve } from '../../src/tools/approve';
import { createCallLog } from '../../src/tools/call-log';
import { createExecutor, type ExecutorDeps } from '../../src/tools/executor';
import { ToolError } from '../../src/tools/errors';
import { createRegistry } from '../../src/tools/registry';
import { toToolMessage } from '../../src/tools/result';
import type { Tool } from '../../src/tools/types';
import { gate, keepLines, makeTool } from './support';

const parameters = z.object({ text: z.string().min(1), times: z.int().default(1) });

/** A tool that counts: whether a handler ran is the thing to know. */
function counted(options: Parameters<typeof makeTool>[0] = {}): Tool & { runs: JsonObject[] } {
  const runs: JsonObject[] = [];
  const tool = makeTool({
    parameters,
    handler: (args) => {
      runs.push(z.record(z.string(), z.json()).parse(args));
      return 'done';
    },
    ...options,
  });
  return { ...tool, runs };
}

function executorOf(tools: Tool[], deps: Partial<ExecutorDeps> = {}) {
  return createExecutor({ registry: createRegistry(tools), ...deps });
}

const call = { id: 'abc', name: 'echo', arguments: '{"text":"a"}' };

describe('execute', () => {
  it('runs a safe call with its defaults', async () => {
    const tool = counted();
    const result = await executorOf([tool]).execute(call);
    expect(tool.runs).toEqual([{ text: 'a', times: 1 }]);
    expect(result).toEqual({
      id: 'abc',
      callId: 'abc',
      tool: 'echo',
      server: 'local',
      arguments: { text: 'a', times: 1 },
      success: true,
      content: 'done',
      contentType: 'text',
      metadata: {
        execution_time_ms: expect.any(Number),
        safety_level: 'safe',
        approved: false,
        attempt: 1,
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
    expect(toToolMessage(result)).toEqual({ role: 'tool', tool_call_id: 'abc', content: 'done' });
  });

  it('takes an object too, and makes up an id', async () => {
    const result = await executorOf([counted()]).execute({ name: 'echo', arguments: { text: 'a' } });
    expect(result).toMatchObject({ success: true, id: expect.stringMatching(/^call_/) });
  });

  it.each<[string, { name?: string; arguments?: string | JsonObject }, string, RegExp]>([
    ['an unknown tool', { name: 'ehco' }, 'tool_not_found', /no tool "ehco".*There are: echo/],
    ['no name', { name: '' }, 'tool_not_found', /no tool ""/],
    ['a name of Object', { name: 'constructor' }, 'tool_not_found', /no tool/],
    ['text that is no JSON', { arguments: '{text' }, 'validation', /no valid JSON/],
    [
      'duplicate keys',
      { arguments: '{"text":"a","text":"b"}' },
      'validation',
      /\/text: this key is there twice/,
    ],
    ['a missing argument', { arguments: '{}' }, 'validation', /text/],
    ['an argument of another type', { arguments: { text: 7 } }, 'validation', /\/text/],
    ['an object over the limit', { arguments: { text: 'a'.repeat(200_000) } }, 'validation', /bytes/],
  ])('%s is an error result and nothing runs', async (...[, changes, code, content]) => {
    const tool = counted();
    const result = await executorOf([tool]).execute({ ...call, ...changes });
    expect(result).toMatchObject({ id: 'abc', success: false, error: { code } });
    expect(result.content).toMatch(content);
    expect(result.content.startsWith(`Error [${code}]: `)).toBe(true);
    expect(tool.runs).toEqual([]);
  });

  it('never rejects, whatever it is given', async () => {
    const { execute } = executorOf([counted()]);
    const given = fc.record(
      { id: fc.anything(), name: fc.anything(), arguments: fc.anything() },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(given, async (odd) => {
        const result = await Reflect.apply(execute, undefined, [odd]);
        expect(result).toMatchObject({
          id: expect.any(String),
          tool: expect.any(String),
          content: expect.any(String),
        });
        expect(result.success).toBe(result.error === undefined);
      }),
      { examples: [[{ name: { toString: [] } }], [{ id: { toString: [] }, name: null }]] },
    );
  });

  it('never rejects, whatever a handler throws or returns', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.anything(),
        fc.boolean(),
        fc.string({ minLength: 1 }),
        async (value, throws, id) => {
          const tool = makeTool({
            handler: () => {
              if (throws) throw value;
              return value;
            },
          });
          const result = await executorOf([tool]).execute({ id, name: 'echo', arguments: '' });
          expect(result).toMatchObject({ id, success: !throws, content: expect.any(String) });
          expect(result.error?.code).toBe(throws ? 'tool' : undefined);
        },
      ),
    );
  });

  it('times out by the call', async () => {
    const tool = makeTool({
      handler: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    });
    const result = await executorOf([tool]).execute({ name: 'echo', arguments: {} }, { timeoutMs: 5 });
    expect(result).toMatchObject({
      success: false,
      error: { code: 'timeout', message: 'timed out after 5 ms' },
    });
  });
});

describe('dangerous calls', () => {
  it.each<[string, unknown, string | undefined, RegExp]>([
    ['approved', { decision: 'approved' }, undefined, /^done$/],
    [
      'denied',
      { decision: 'denied', reason: 'not today' },
      'denied',
      /denied this call: not today\. Nothing ran/,
    ],
    ['denied without a reason', { decision: 'denied' }, 'denied', /no reason was given/],
    ['nothing', undefined, 'denied', /could not be understood/],
    ['true', true, 'denied', /could not be understood/],
    ['another word', { decision: 'yes' }, 'denied', /could not be understood/],
    ['modified without arguments', { decision: 'modified' }, 'denied', /could not be understood/],
    [
      'modified into what does not fit',
      { decision: 'modified', arguments: { text: 1 } },
      'validation',
      /\/text/,
    ],
  ])('answer: %s', async (...[, answer, code, content]) => {
    const tool = counted({ safety: 'dangerous' });
    const approve: Approve = jest.fn().mockReturnValue(answer);
    const result = await executorOf([tool]).execute(call, { approve });
    expect(result.error?.code).toBe(code);
    expect(result.content).toMatch(content);
    expect(tool.runs).toHaveLength(code === undefined ? 1 : 0);
    expect(result.metadata.approved).toBe(code === undefined);
  });

  it('without approve is denied', async () => {
    const tool = counted({ safety: 'dangerous' });
    expect(await executorOf([tool]).execute(call)).toMatchObject({ error: { code: 'denied' } });
    expect(tool.runs).toEqual([]);
  });

  it('a throw is a denial that does not tell what was thrown', async () => {
    const tool = counted({ safety: 'dangerous' });
    const approve = (): never => {
      throw new Error('password=hunter2');
    };
    const result = await executorOf([tool]).execute(call, { approve });
    expect(result).toMatchObject({ error: { code: 'denied' } });
    expect(JSON.stringify(result)).not.toContain('hunter2');
    expect(tool.runs).toEqual([]);
  });

  it('modified arguments run, validated and with defaults, and the model is told', async () => {
    const tool = counted({ safety: 'dangerous' });
    const result = await executorOf([tool]).execute(call, {
      approve: () => ({ decision: 'modified', arguments: { text: 'b' }, reason: 'better' }),
    });
    expect(tool.runs).toEqual([{ text: 'b', times: 1 }]);
    expect(result).toMatchObject({
      success: true,
      arguments: { text: 'b', times: 1 },
      metadata: { approved: true },
    });
    expect(result.content).toMatch(/A person changed .*"text":"b".*Reason: better.*\n\ndone$/s);
  });

  it('what approve does to its arguments changes nothing', async () => {
    const tool = counted({ safety: 'dangerous' });
    await executorOf([tool]).execute(call, {
      approve: (_, args) => {
        args['text'] = 'evil';
        return { decision: 'approved' };
      },
    });
    expect(tool.runs).toEqual([{ text: 'a', times: 1 }]);
  });

  it('waiting for an approval ends with the signal', async () => {
    const tool = counted({ safety: 'dangerous' });
    const abort = new AbortController();
    const { opened, open } = gate<void>();
    const running = executorOf([tool]).execute(call, {
      signal: abort.signal,
      approve: () => {
        open();
        return new Promise(() => undefined);
      },
    });
    await opened;
    abort.abort();
    expect(await running).toMatchObject({
      error: { code: 'cancelled', message: expect.stringContaining('nothing ran') },
    });
    expect(tool.runs).toEqual([]);
  });
});

describe('policy', () => {
  it('refuses, and asks again about changed arguments', async () => {
    const tool = counted({ safety: 'dangerous' });
    const executor = executorOf([tool], {
      agent: 'clerk',
      policy: ({ agent, arguments: args }) =>
        args['text'] === 'b' ? { decision: 'refuse', reason: `${agent} must not say b` } : 'run',
    });
    const approve = () => ({ decision: 'modified' as const, arguments: { text: 'b' } });
    const result = await executor.execute(call, { approve });
    expect(result).toMatchObject({ error: { code: 'refused' } });
    expect(result.content).toContain('clerk must not say b');
    expect(tool.runs).toEqual([]);
  });

  it('may ask about a safe call', async () => {
    const tool = counted();
    const executor = executorOf([tool], { policy: () => 'ask' });
    expect(await executor.execute(call)).toMatchObject({ error: { code: 'denied' } });
    expect(await executor.execute(call, { approve: () => ({ decision: 'approved' }) })).toMatchObject({
      success: true,
    });
  });

  it('what it threw goes to the log and not to the model', async () => {
    const logger = keepLines();
    const policy = (): never => {
      throw new Error('database gone');
    };
    const executor = executorOf([counted()], { policy, log: createCallLog(logger) });
    expect((await executor.execute(call)).content).not.toContain('database');
    expect(logger.lines).toContain('the policy failed on echo: database gone');
  });
});

describe('executeBatch', () => {
  const batch = ['a', 'b', 'c'].map((text) => ({ id: text, name: 'echo', arguments: { text } }));

  it('runs one after another, in order', async () => {
    const order: string[] = [];
    const tool = makeTool({
      handler: async () => {
        order.push('start');
        await new Promise(setImmediate);
        order.push('end');
      },
      parameters: z.object({ text: z.string() }),
    });
    const results = await executorOf([tool]).executeBatch(batch);
    expect(order).toEqual(['start', 'end', 'start', 'end', 'start', 'end']);
    expect(results.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('runs all at once if told to, and keeps the order of results', async () => {
    const { opened, open } = gate();
    let started = 0;
    const tool = makeTool({
      parameters: z.object({ text: z.string() }),
      handler: async ({ text }) => {
        if (++started === 3) open();
        await opened;
        return text;
      },
    });
    const results = await executorOf([tool]).executeBatch(batch, { parallel: true });
    expect(results.map(({ content }) => content)).toEqual(['a', 'b', 'c']);
  });

  it('one that fails holds up nobody', async () => {
    const results = await executorOf([counted()]).executeBatch([{ name: 'no', arguments: '' }, call]);
    expect(results.map(({ success }) => success)).toEqual([false, true]);
  });

  it('gives each result an id of its own', async () => {
    const results = await executorOf([counted()]).executeBatch([call, call, { ...call, id: '' }]);
    expect(results.map(({ id }) => id)).toEqual(['abc', 'call_2', 'call_3']);
  });

  it('starts nothing after the signal aborted', async () => {
    const abort = new AbortController();
    const tool = counted();
    const stopping = makeTool({ name: 'stop', handler: () => abort.abort() });
    const calls = [{ name: 'stop', arguments: '' }, ...batch];
    const results = await executorOf([tool, stopping]).executeBatch(calls, { signal: abort.signal });
    expect(results.map(({ error }) => error?.code)).toEqual(Array(4).fill('cancelled'));
    expect(
      results.map(({ error }) => error?.message).filter((text) => text?.includes('nothing ran')),
    ).toHaveLength(3);
    expect(tool.runs).toEqual([]);
  });

  it('is empty for nothing', async () => {
    expect(await executorOf([]).executeBatch([])).toEqual([]);
  });
});

describe('log and results', () => {
  it('secrets are redacted in the log and kept in the result', async () => {
    const logger = keepLines();
    const tool = makeTool({
      parameters: z.object({ password: z.string() }),
      handler: () => 'password=hunter2',
    });
    const result = await executorOf([tool], { log: createCallLog(logger) }).execute({
      name: 'echo',
      arguments: { password: 'hunter2' },
    });
    expect(result.content).toBe('password=hunter2');
    expect(logger.lines).toHaveLength(2);
    expect(logger.lines.join()).not.toContain('hunter2');
  });

  it('a call that never ran is logged too', async () => {
    const logger = keepLines();
    await executorOf([], { log: createCallLog(logger) }).execute(call);
    expect(logger.lines).toEqual([
      'TOOL_CALL tool=echo args={"text":"a"}',
      'TOOL_FAILED tool=echo duration=0ms error=[tool_not_found] There is no tool "echo". There are no tools.',
    ]);
  });

  it('output is cut to the limit of the tool', async () => {
    const tool = makeTool({ outputLimit: 200, handler: () => 'x'.repeat(1000) });
    const { content } = await executorOf([tool]).execute({ name: 'echo', arguments: '' });
    expect(content.length).toBeLessThanOrEqual(200);
    expect(content).toContain('bytes left out');
  });

  it('what a handler does to its arguments reaches neither the result nor the next call', async () => {
    const parameters = { type: 'object', properties: { list: { type: 'array', items: {}, default: ['a'] } } };
    const handler = (args: JsonObject) => (Array.isArray(args['list']) ? args['list'].push('b') : 0);
    const executor = executorOf([makeTool({ parameters, handler })]);
    for (const id of ['1', '2']) {
      const result = await executor.execute({ id, name: 'echo', arguments: '' });
      expect(result).toMatchObject({ content: '2', arguments: { list: ['a'] } });
    }
  });

  it('details of a ToolError reach the result', async () => {
    const tool = makeTool({
      handler: () => {
        throw new ToolError('gone', { details: { path: 'a' }, code: 'conflict' });
      },
    });
    expect(await executorOf([tool]).execute({ name: 'echo', arguments: '' })).toMatchObject({
      error: { code: 'conflict', message: 'gone', details: { path: 'a' } },
    });
  });
});
