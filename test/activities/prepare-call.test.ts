import { z } from 'zod';
import { fitStep, prepareCall, prepareFitting } from '../../src/activities/prepare-call';
import type { PreparedCall } from '../../src/contract/call';
import { utf8Bytes } from '../../src/contract/text/bytes';
import { validCall } from '../support/calls';
import { digestJson } from '../../src/contract/digest';
import { LIMITS } from '../../src/contract/limits';
import { scriptedModel } from '../../src/models/scripted';
import { createCallLog } from '../../src/tools/call-log';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { ToolError } from '../../src/tools/errors';
import { createExecutor } from '../../src/tools/executor';
import type { Policy } from '../../src/tools/types';

const parameters = z.object({
  path: z.string().min(1),
  mode: z.enum(['fast', 'slow']).default('fast'),
  even: z
    .number()
    .refine((n) => n % 2 === 0, 'must be even')
    .optional(),
});
const read = defineTool({ name: 'read', description: 'Reads.', parameters, handler: () => '' });
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters,
  safety: 'dangerous',
  handler: () => '',
});
const edit = defineTool({
  name: 'edit',
  description: 'Edits.',
  parameters,
  safety: 'dangerous',
  noBatch: true,
  preview: ({ path }) => {
    if (path === 'missing') throw new ToolError('there is no file missing');
    return path === 'large' ? 'x'.repeat(LIMITS.previewBytes) : `would edit ${path}`;
  },
  handler: () => '',
});
const far = defineTool({
  name: 'far',
  description: 'Far.',
  parameters,
  taskQueue: 'elsewhere',
  handler: () => '',
});

/** Keeps what is logged. */
const logged: string[] = [];
const log = createCallLog({ log: (_, message) => void logged.push(message) });
const deps = (taskQueue: string) => ({ taskQueue, run: { log } });

const agentWith = (policy?: Policy) =>
  defineAgent({
    name: 'a',
    instructions: 'x',
    model: scriptedModel([]),
    tools: [read, pay, edit, far],
    ...(policy === undefined ? {} : { policy }),
  });

const prepare = (tool: string, raw: string, policy?: Policy) =>
  prepareCall(agentWith(policy), { callId: '1.1', id: 'm1', tool, raw }, deps('here'));

it('applies defaults, keeps what the model asked for, and digests what would run', async () => {
  const call = await prepare('read', '{"path":"a"}');
  expect(call).toMatchObject({
    kind: 'run',
    arguments: { path: 'a', mode: 'fast' },
    proposed: { path: 'a' },
    argsDigest: digestJson({ mode: 'fast', path: 'a' }),
    toolDigest: read.digest,
    settings: { safety: 'safe', effect: 'pure' },
  });
  expect(await prepare('read', '{"path":"a","mode":"slow"}')).not.toHaveProperty(
    'proposed',
    expect.anything(),
  );
});

it.each([
  ['no JSON', '{"path":', 'validation'],
  ['trailing text', '{"path":"a"} and', 'validation'],
  ['a list', '["a"]', 'validation'],
  ['null', 'null', 'validation'],
  ['a key twice', '{"path":"a","path":"b"}', 'validation'],
  ['a missing key', '{}', 'validation'],
  ['a wrong type', '{"path":7}', 'validation'],
  ['an unknown value', '{"path":"a","mode":"x"}', 'validation'],
  ['a refinement', '{"path":"a","even":3}', 'validation'],
  ['too much', JSON.stringify({ path: 'x'.repeat(LIMITS.argumentsBytes) }), 'validation'],
])('%s is an error result, never a repair', async (_, raw, code) => {
  const call = await prepare('pay', raw);
  expect(call).toMatchObject({
    kind: 'invalid',
    callId: '1.1',
    id: 'm1',
    result: { success: false, error: { code } },
  });
  if (call.kind === 'invalid') expect(call.result.content.length).toBeLessThan(10_000);
});

it('carries on that a tool wants each request decided on its own, and nothing where it does not', async () => {
  expect(await prepare('edit', '{"path":"a"}')).toMatchObject({ settings: { noBatch: true } });
  const plain = await prepare('pay', '{"path":"a"}');
  expect(plain.kind === 'ask' && plain.settings).not.toHaveProperty('noBatch', expect.anything());
});

it('names the tools there are for one that is not', async () => {
  const call = await prepare('rm_rf', '{}');
  expect(call).toMatchObject({ kind: 'invalid', result: { error: { code: 'tool_not_found' } } });
  if (call.kind === 'invalid') expect(call.result.content).toContain('read, pay, edit, far');
});

it('asks about dangerous calls, with a preview where the tool makes one', async () => {
  const plain = await prepare('pay', '{"path":"a"}');
  expect(plain.kind).toBe('ask');
  expect(plain).not.toHaveProperty('preview', expect.anything());
  expect(await prepare('edit', '{"path":"a"}')).toMatchObject({
    kind: 'ask',
    preview: { text: 'would edit a' },
  });
});

it('does not offer what cannot be reviewed or previewed', async () => {
  expect(await prepare('edit', '{"path":"large"}')).toMatchObject({
    kind: 'invalid',
    result: { error: { code: 'validation', message: expect.stringContaining('too large to review') } },
  });
  expect(await prepare('edit', '{"path":"missing"}')).toMatchObject({
    kind: 'invalid',
    result: { error: { code: 'tool', message: expect.stringContaining('no file missing') } },
  });
});

it.each<[string, string, Policy, object]>([
  ['loosen', 'pay', () => 'run', { kind: 'ask' }],
  [
    'ask about a safe tool',
    'read',
    () => ({ decision: 'ask', reason: 'first time' }),
    { kind: 'ask', policyReason: 'first time' },
  ],
  [
    'refuse',
    'read',
    () => ({ decision: 'refuse', reason: 'not on Sundays' }),
    { kind: 'invalid', result: { error: { code: 'refused' } } },
  ],
  [
    'throw',
    'read',
    () => {
      throw new Error('no');
    },
    { kind: 'invalid', result: { error: { code: 'refused' } } },
  ],
])('a policy can %s', async (_, tool, policy, expected) => {
  expect(await prepare(tool, '{"path":"a"}', policy)).toMatchObject(expected);
});

it('leaves a tool of another queue to that queue, and prepares it there', async () => {
  expect(await prepare('far', '{"path":')).toMatchObject({
    kind: 'remote',
    taskQueue: 'elsewhere',
    raw: '{"path":',
  });
  const there = await prepareCall(
    agentWith(),
    { callId: '1.1', id: 'm', tool: 'far', raw: '{"path":"a"}' },
    deps('elsewhere'),
  );
  expect(there).toMatchObject({ kind: 'run', settings: { taskQueue: 'elsewhere' } });
});

it('logs what a policy threw, which the model does not read', async () => {
  const call = await prepare('read', '{"path":"a"}', () => Promise.reject(new Error('no host, token=abc1')));
  expect(logged).toContain('the policy failed on read: no host, token=[redacted]');
  expect(JSON.stringify(call)).not.toContain('no host');
});

describe('the executor alone says the same of a call', () => {
  const refusing: Policy = () => ({ decision: 'refuse', reason: 'not on Sundays' });
  const silent: Policy = () => ({ decision: 'refuse' });
  const broken: Policy = () => Promise.reject(new Error('database gone'));
  const edits: Policy = ({ arguments: args }) => {
    args['path'] = 'elsewhere';
    return 'run';
  };

  it.each<[string, string, string, Policy?]>([
    ['an unknown tool', 'rm_rf', '{}'],
    ['an unknown tool with arguments that cannot be read', 'rm_rf', '{"path":'],
    ['a name that is too long to say', 'x'.repeat(300), '{}'],
    ['text that is not JSON', 'read', '{"path":'],
    ['a list', 'read', '[1]'],
    ['a missing key', 'read', '{}'],
    ['a refinement', 'read', '{"path":"a","even":3}'],
    ['more than the limit', 'read', JSON.stringify({ path: 'x'.repeat(LIMITS.argumentsBytes) })],
    ['a policy that refuses', 'read', '{"path":"a"}', refusing],
    ['a policy that refuses without a reason', 'read', '{"path":"a"}', silent],
    ['a policy that throws', 'read', '{"path":"a"}', broken],
  ])('%s is the same error', async (...[, tool, raw, policy]) => {
    const prepared = await prepare(tool, raw, policy);
    const { registry } = agentWith();
    const executed = await createExecutor({ registry, policy }).execute({ name: tool, arguments: raw });
    expect(executed.success).toBe(false);
    expect(prepared).toMatchObject({ kind: 'invalid', result: { error: executed.error } });
  });

  it.each<[string, string, Policy?]>([
    ['defaults are filled in', '{"path":"a"}'],
    ['what is given stays', '{"path":"a","mode":"slow"}'],
    ['a policy cannot change the arguments', '{"path":"a"}', edits],
  ])('%s in the same way', async (...[, raw, policy]) => {
    const prepared = await prepare('read', raw, policy);
    const { registry } = agentWith();
    const executed = await createExecutor({ registry, policy }).execute({ name: 'read', arguments: raw });
    expect(executed.success).toBe(true);
    expect(prepared).toMatchObject({ kind: 'run', arguments: executed.arguments });
    expect(executed.arguments).toMatchObject({ path: 'a' });
  });
});

describe('the limits of a step', () => {
  const calls = (count: number, size: number, preview = 0): PreparedCall[] =>
    Array.from({ length: count }, (_, index) => ({
      ...validCall({ callId: `1.${index + 1}`, args: { to: 'x'.repeat(size) } }),
      ...(preview === 0 ? {} : { preview: { text: 'p'.repeat(preview) } }),
    }));
  const kinds = (fitted: PreparedCall[]): string => fitted.map((call) => call.kind[0]).join('');

  it.each<[string, PreparedCall[], string]>([
    ['64 small calls', calls(64, 1), 'a'.repeat(64)],
    ['70 small calls', calls(70, 1), 'a'.repeat(64) + 'i'.repeat(6)],
    ['one over its arguments', calls(1, LIMITS.argumentsBytes), 'i'],
    ['seven of 120 KB', calls(7, 120_000), 'aaaaaai'],
    ['three previews of 200 KB', calls(3, 1, 200_000), 'aai'],
  ])('%s', (_, given, expected) => {
    expect(kinds(fitStep(given, 0))).toBe(expected);
  });

  it('says why, names each call, and keeps the whole under its limit', () => {
    const given = [...calls(6, 120_000), ...calls(2, 1, 250_000), ...calls(60, 1)];
    const fitted = fitStep(given, 512 * 1024);
    expect(utf8Bytes(JSON.stringify(fitted)) + 512 * 1024).toBeLessThan(LIMITS.thinkResultBytes + 64 * 1024);
    expect(fitted.map((call) => call.callId)).toEqual(given.map((call) => call.callId));
    for (const call of fitted) {
      if (call.kind === 'invalid') expect(call.result.error?.message).toMatch(/^Not run: /);
    }
  });

  it('lets a smaller call through after one that was too large', () => {
    expect(kinds(fitStep([...calls(1, LIMITS.argumentsBytes), ...calls(1, 1)], 0))).toBe('ia');
  });

  describe('what a model asked for', () => {
    const askedFor = (count: number, size = 1) =>
      Array.from({ length: count }, (_, index) => ({
        callId: `1.${index + 1}`,
        id: `id-${index}`,
        tool: 'pay',
        raw: 'x'.repeat(size),
      }));

    /** Prepares with a pause, and counts. */
    const counted = () => {
      const counts = { made: 0, atOnce: 0, mostAtOnce: 0 };
      const prepare = async ({ callId }: { callId: string }): Promise<PreparedCall> => {
        counts.made += 1;
        counts.mostAtOnce = Math.max(counts.mostAtOnce, ++counts.atOnce);
        await new Promise(setImmediate);
        counts.atOnce -= 1;
        return validCall({ callId });
      };
      return { counts, prepare };
    };

    it.each<[string, { callId: string; id: string; tool: string; raw: string }[], string, number]>([
      ['nothing', [], '', 0],
      ['three calls', askedFor(3), 'aaa', 3],
      ['1,000 calls', askedFor(1000), 'a'.repeat(64) + 'i'.repeat(936), 64],
      ['more calls than are answered', askedFor(5000), 'a'.repeat(64) + 'i'.repeat(936), 64],
      ['one over its arguments, which preparing refuses', askedFor(1, LIMITS.argumentsBytes + 1), 'a', 1],
      ['seven of 120 KB', askedFor(7, 120_000), 'aaaaaai', 6],
    ])('%s: only what fits is prepared, at most 8 at a time', async (_, given, expected, made) => {
      const { counts, prepare } = counted();
      const calls = await prepareFitting(given, prepare);
      expect(kinds(calls)).toBe(expected);
      expect(calls.map(({ callId }) => callId)).toEqual(given.slice(0, 1000).map(({ callId }) => callId));
      expect(counts).toEqual({ made, atOnce: 0, mostAtOnce: Math.min(8, made) });
    });

    it('answers 1,000 calls within the limit of a result, whatever the first 64 take', async () => {
      const long = askedFor(1000).map((one) => ({ ...one, id: 'i'.repeat(200), tool: 't'.repeat(1000) }));
      const prepared = await prepareFitting(long, async (one) =>
        validCall({ callId: one.callId, args: { to: 'x'.repeat(12_000) } }),
      );
      const fitted = fitStep(prepared, 512 * 1024);
      expect(utf8Bytes(JSON.stringify(fitted)) + 512 * 1024).toBeLessThan(
        LIMITS.thinkResultBytes + 64 * 1024,
      );
      expect(fitted).toHaveLength(1000);
    });
  });
});

it('says what was read otherwise than it was written, and what only the server checks', async () => {
  const send = defineTool({
    ...{ name: 'send', description: 'Sends.', safety: 'dangerous', jsonTexts: true },
    parameters: z.object({ to: z.array(z.string()), cc: z.string().optional() }),
    handler: () => '',
  });
  const tools = [Object.freeze({ ...send, unchecked: ['pattern of /to'] })];
  const agent = defineAgent({ name: 'a', instructions: 'x', model: scriptedModel([]), tools });
  const raw = '{"to":"[\\"a\\"]","cc":null}';
  const asked = { callId: '1.1', id: 'm', tool: 'send', raw };
  expect(await prepareCall(agent, asked, deps('q'))).toMatchObject({
    kind: 'ask',
    arguments: { to: ['a'] },
    proposed: { to: '["a"]', cc: null },
    notes: [
      '/to: a text is read as JSON',
      '/cc: null counts as absent',
      'checked by the server only: pattern of /to',
    ],
  });
});
