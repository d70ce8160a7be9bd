import { z } from 'zod';
import { askUser } from '../../../src/tools/builtin/ask-user';
import { createExecutor } from '../../../src/tools/executor';
import { createRegistry } from '../../../src/tools/registry';

const questionOf = (tool: ReturnType<typeof askUser>, args: object): unknown => {
  const parsed = tool.parse({ ...args });
  return parsed.ok ? tool.asks?.(parsed.value) : parsed.issues;
};

it('is a safe tool whose questions wait for seven days', () => {
  expect(askUser()).toMatchObject({
    name: 'ask_user',
    safety: 'safe',
    effect: 'pure',
    requestExpiresMs: 604_800_000,
  });
  expect(askUser({ name: 'ask_guest', expires: 'never' })).toMatchObject({
    name: 'ask_guest',
    requestExpiresMs: null,
  });
});

it('asks for one text where the model gives no form', () => {
  expect(questionOf(askUser(), { question: 'Why?' })).toMatchObject({
    text: 'Why?',
    form: { properties: { answer: { type: 'string' } } },
  });
});

it('asks by the form of its options, and lets no model make another one where it may not', () => {
  const tool = askUser({ form: z.object({ size: z.enum(['S', 'M']) }), ownForms: false });
  expect(questionOf(tool, { question: 'Which?' })).toMatchObject({
    form: { properties: { size: { enum: ['S', 'M'] } }, required: ['size'] },
  });
  expect(questionOf(tool, { question: 'Which?', schema: { type: 'object', properties: {} } })).toEqual([
    expect.objectContaining({ path: '/schema' }),
  ]);
});

it.each<[what: string, args: object, path: string]>([
  ['no question', {}, ''],
  ['an empty one', { question: '' }, '/question'],
  ['a long one', { question: 'x'.repeat(4001) }, '/question'],
  [
    'a form that a person cannot fill in',
    { question: '?', schema: { type: 'object', properties: { a: {} } } },
    '/schema/properties/a',
  ],
  [
    'a form that asks for a secret',
    { question: '?', schema: { type: 'object', properties: { a: { type: 'string', format: 'password' } } } },
    '/schema/properties/a',
  ],
])('tells the model what is wrong with %s', (_what, args, path) => {
  expect(questionOf(askUser(), args)).toContainEqual(expect.objectContaining({ path }));
});

it.each<[what: string, options: object]>([
  ['an unknown option', { secret: true }],
  ['a wrong time', { expires: 'soon' }],
  ['a form with a list', { form: z.object({ all: z.array(z.string()) }) }],
  [
    'a form with a secret',
    { form: { type: 'object', properties: { a: { type: 'string', format: 'password' } } } },
  ],
  ['a name with a blank', { name: 'ask user' }],
])('refuses %s', (_what, options) => {
  expect(() => askUser(options)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});

it('without a turn nobody is asked, and the call says so', async () => {
  const executor = createExecutor({ registry: createRegistry([askUser()]) });
  const result = await executor.execute({ id: 'c', name: 'ask_user', arguments: { question: 'Why?' } });
  expect(result).toMatchObject({
    success: false,
    error: { message: expect.stringContaining('Nothing was asked.') },
  });
});
