import { DefaultLogger } from '@temporalio/worker';
import { z } from 'zod';
import { prepareCall } from '../../src/activities/prepare-call';
import { digestJson } from '../../src/contract/digest';
import { LIMITS } from '../../src/contract/limits';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { ToolError } from '../../src/tools/errors';
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
const log = new DefaultLogger('WARN', ({ message }) => void logged.push(message));
const deps = (taskQueue: string) => ({ taskQueue, log });

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
  expect(await prepare('read', '{"path":"a","mode":"slow"}')).not.toHaveProperty('proposed');
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
  expect(plain.kind === 'ask' && plain.settings).not.toHaveProperty('noBatch');
});

it('names the tools there are for one that is not', async () => {
  const call = await prepare('rm_rf', '{}');
  expect(call).toMatchObject({ kind: 'invalid', result: { error: { code: 'tool_not_found' } } });
  if (call.kind === 'invalid') expect(call.result.content).toContain('read, pay, edit, far');
});

it('asks about dangerous calls, with a preview where the tool makes one', async () => {
  const plain = await prepare('pay', '{"path":"a"}');
  expect(plain.kind).toBe('ask');
  expect(plain).not.toHaveProperty('preview');
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
  const call = await prepare('read', '{"path":"a"}', () => Promise.reject(new Error('secret host down')));
  expect(logged).toContain('a policy failed');
  expect(JSON.stringify(call)).not.toContain('secret host');
});
