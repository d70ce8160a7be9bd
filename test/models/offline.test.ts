import type { JsonObject } from '../../src/contract/json';
import type { ModelMessage, ModelRequest } from '../../src/models/model';
import { offlineModel } from '../../src/models/offline';

const TOOLS: Readonly<Record<string, JsonObject>> = {
  read_file: {},
  search_files: {},
  create_file: {},
  edit_file: {},
  run_command: {},
  describe_symbol: {},
  eval_form: {},
  send_mail: {
    properties: { to: { type: 'string' }, copies: { type: 'integer' }, note: {} },
    required: ['to', 'copies'],
  },
};

const requestOf = (messages: ModelMessage[], tools = Object.keys(TOOLS)): ModelRequest => ({
  ...{ instructions: '', messages, signal: new AbortController().signal },
  tools: tools.map((name) => {
    const parameters = { type: 'object', ...TOOLS[name] };
    return { type: 'function', function: { name, description: name, parameters } };
  }),
});

type Call = [tool: string, args: JsonObject];

interface Talk {
  calls: Call[];
  answer: string;
}

/** Asks until there is an answer; `execute` gives each call's result. */
async function talk(words: string, execute: (...call: Call) => string, tools?: string[]): Promise<Talk> {
  const messages: ModelMessage[] = [{ role: 'user', content: words }];
  const calls: Call[] = [];
  for (;;) {
    const { text, toolCalls } = await offlineModel().generate(requestOf(messages, tools));
    if (toolCalls.length === 0) return { calls, answer: text };
    messages.push({ role: 'assistant', content: text, toolCalls });
    for (const { name, arguments: raw } of toolCalls) {
      const call: Call = [name, JSON.parse(raw) as JsonObject];
      calls.push(call);
      messages.push({ role: 'tool', toolCallId: 'x', toolName: name, content: execute(...call) });
    }
  }
}

const mail = { to: 'ann@example.com', text: 'one then "two"' };
const read: Call = ['read_file', { path: 'a.txt' }];
const run = (...argv: string[]): Call => ['run_command', { argv }];

it.each<[words: string, calls: Call[]]>([
  ['call send_mail {"to":"ann@example.com"}', [['send_mail', { to: 'ann@example.com' }]]],
  [`call send_mail ${JSON.stringify(mail)}`, [['send_mail', mail]]],
  ['call send_mail', [['send_mail', {}]]],
  ['read a.txt', [read]],
  ['Read "a b.txt"', [['read_file', { path: 'a b.txt' }]]],
  ['search for "Acme Ltd", then read a.txt', [['search_files', { query: 'Acme Ltd' }], read]],
  ["create a.txt with content 'now then'", [['create_file', { path: 'a.txt', content: 'now then' }]]],
  ['create a.txt with content two words', [['create_file', { path: 'a.txt', content: 'two words' }]]],
  [
    'replace \'a\' with "b" in a.txt',
    [read, ['edit_file', { path: 'a.txt', edits: [{ old_text: 'a', new_text: 'b' }], replace_all: true }]],
  ],
  ['run bin/status then run bin/rotate-logs 3', [run('bin/status'), run('bin/rotate-logs', '3')]],
  ['run git commit -m "then; stop"\nread a.txt', [run('git', 'commit', '-m', 'then; stop'), read]],
  ['What does the function `defun` do?', [['describe_symbol', { symbol: 'defun' }]]],
  ['what is shop:total', [['describe_symbol', { symbol: 'shop:total' }]]],
  ['evaluate (shop:total (list 1 2))', [['eval_form', { form: '(shop:total (list 1 2))' }]]],
])('%s', async (words, calls) => {
  const done = await talk(words, () => 'ok');
  expect(done.calls).toEqual(calls);
  expect(done.answer).toContain('no language model');
});

it.each([
  '',
  ' \n\n ',
  'then then',
  'hello',
  'read',
  'read a.txt b.txt',
  'replace a with b',
  'create a.txt',
  'run a && b',
  'run a; b',
  'run cat a | grep b',
  'call',
  'call send_mail {"to":}',
  'call send_mail [1]',
  'call send_mail {} {}',
  'read a.txt then make tea',
])('does nothing for %j', async (words) => {
  const { calls, answer } = await talk(words, () => 'ok');
  expect(calls).toEqual([]);
  expect(answer).toContain('I understand requests like these');
});

describe('what it says that it understands', () => {
  it.each([
    [
      ['read_file', 'send_mail'],
      ['read README.md', 'call send_mail {"to":"…","copies":1}'],
    ],
    [['run_command'], ['run npm test', 'call run_command {}']],
  ])('of %j', async (tools, examples) => {
    const { answer } = await talk('make tea', () => 'ok', tools);
    expect(answer).toContain('I do not understand: make tea\n\nNothing was done.');
    expect(answer.split('\n').filter((line) => line.startsWith('- '))).toEqual(
      examples.map((example) => `- ${example}`),
    );
  });

  it('is nothing without tools', async () => {
    expect((await talk('make tea', () => 'ok', [])).answer).toContain('This agent has no tools.');
  });

  it('it does', async () => {
    const { answer } = await talk('make tea', () => 'ok');
    for (const line of answer.split('\n').filter((one) => one.startsWith('- '))) {
      expect({ line, calls: (await talk(line.slice(2), () => 'ok')).calls.length > 0 }).toEqual({
        ...{ line, calls: true },
      });
    }
  });
});

it.each([
  ['a success', 'Wrote it.', 'create_file a.txt: done.\n  Wrote it.'],
  ['a denial', 'Error [denied]: not today', 'create_file a.txt: not done, denied by a person.\n  not today'],
  ['an error of the tool', 'Error [tool]: gone', 'create_file a.txt: not done, tool.\n  gone'],
  [
    'a code that it does not know',
    'Error [brand_new]: hm',
    'create_file a.txt: done.\n  Error [brand_new]: hm',
  ],
  [
    'the note of a person',
    '[ann approved this call. Reason: fine]\n\nWrote it.',
    'create_file a.txt: done.\n  ann approved this call. Reason: fine\n  Wrote it.',
  ],
  ['brackets that are not a note', '[1, 2]\n\n3', 'create_file a.txt: done.\n  [1, 2]\n  \n  3'],
  ['a long output', 'y'.repeat(5000), '… (1000 characters more)'],
])('tells of %s', async (_, content, told) => {
  expect((await talk('create a.txt with content x', () => content)).answer).toContain(told);
});

it('stops where a request is not done', async () => {
  const words = 'replace "a" with "b" in a.txt then read b.txt';
  const { calls, answer } = await talk(words, () => 'Error [tool]: there is no such file');
  expect(calls).toEqual([read]);
  expect(answer).toContain('Not tried, as the request before was not done:\n- read b.txt');
});

it('calls no tool that the agent does not have', async () => {
  const { calls, answer } = await talk('call pay {} then read a.txt', () => 'ok');
  expect(calls).toEqual([]);
  expect(answer).toContain('Not done: this agent has no tool pay.');
});

it('works on the last words of a person only', async () => {
  const reply = await offlineModel({ id: 'mine' }).generate(
    requestOf([
      { role: 'user', content: 'read b.txt' },
      { role: 'assistant', content: '', toolCalls: [{ id: '1', name: 'read_file', arguments: '{}' }] },
      { role: 'tool', toolCallId: '1', toolName: 'read_file', content: 'x' },
      { role: 'user', content: 'read a.txt' },
    ]),
  );
  expect(reply).toEqual({
    text: '',
    finishReason: 'tool-calls',
    toolCalls: [{ id: 'offline_1', name: 'read_file', arguments: '{"path":"a.txt"}' }],
  });
});

it('stops at an aborted signal', async () => {
  const request = { ...requestOf([]), signal: AbortSignal.abort(new Error('enough')) };
  await expect(offlineModel().generate(request)).rejects.toThrow('enough');
});

describe('hostile words end soon', () => {
  const LONG = 100_000;
  it.each<[string, string]>([
    ['one long word', 'x'.repeat(LONG)],
    ['opening quotes', " '".repeat(LONG)],
    ['escaped quotes', `"${'\\"'.repeat(LONG)}`],
    ['quotes inside words', 'a" '.repeat(LONG)],
    ['blanks', ' '.repeat(LONG)],
    ['line breaks', '\n'.repeat(LONG)],
    ['thens', 'then '.repeat(LONG)],
    ['many ins', `replace a with b ${'in '.repeat(LONG)}`],
    ['many quotes in a replace', `replace ${'"a" with '.repeat(LONG)}`],
    ['a run of quotes', `run ${'"'.repeat(LONG + 1)}`],
    ['braces', `call x ${'{'.repeat(LONG)}`],
  ])('%s', async (_, words) => {
    // Quadratic time would take minutes, and the test would time out.
    await expect(talk(words, () => 'ok')).resolves.toBeDefined();
  });
});
