import type { ModelMessage, ModelRequest } from '../../src/models/model';
import { scriptedModel, type ScriptedStep } from '../../src/models/scripted';

const user: ModelMessage = { role: 'user', content: 'go' };
const reply: ModelMessage = { role: 'assistant', content: '', toolCalls: [] };
const result: ModelMessage = { role: 'tool', toolCallId: 'x', toolName: 't', content: 'ok' };

const request = (...messages: ModelMessage[]): ModelRequest => {
  return { instructions: '', messages, tools: [], signal: new AbortController().signal };
};

const script = [
  {
    toolCalls: [
      { name: 'read', arguments: { path: 'a' } },
      { name: 'raw', arguments: '{"a":' },
      { name: 'none', id: null },
    ],
  },
  ({ messages }: ModelRequest) => ({
    text: `saw ${messages.length}`,
    finishReason: 'length',
    usage: { totalTokens: 3 },
  }),
  new Error('broken'),
  async () => Promise.resolve({}),
];

it('gives calls as objects, as raw text, and without an id', async () => {
  expect(await scriptedModel(script).generate(request(user))).toEqual({
    text: '',
    finishReason: 'tool-calls',
    toolCalls: [
      { id: 'call_1_1', name: 'read', arguments: '{"path":"a"}' },
      { id: 'call_1_2', name: 'raw', arguments: '{"a":' },
      { name: 'none', arguments: '{}' },
    ],
  });
});

it('calls functions with the request', async () => {
  const answer = await scriptedModel(script).generate(request(user, reply, result, result));
  expect(answer).toEqual({ text: 'saw 4', toolCalls: [], finishReason: 'length', usage: { totalTokens: 3 } });
});

it('throws an Error at every attempt', async () => {
  const model = scriptedModel(script);
  await expect(model.generate(request(user, reply, reply))).rejects.toThrow('broken');
  await expect(model.generate(request(user, reply, reply))).rejects.toThrow('broken');
});

it('is the same for a retry, another worker and any order of asking', async () => {
  const [one, two] = [scriptedModel(script), scriptedModel(script)];
  const later = await one.generate(request(user, reply));
  const first = await one.generate(request(user));
  expect(await one.generate(request(user))).toEqual(first);
  expect(await two.generate(request(user))).toEqual(first);
  expect(await two.generate(request(user, reply))).toEqual(later);
});

it('fills in an empty reply and says when the script is over', async () => {
  const model = scriptedModel(script, { id: 'mine' });
  expect(model.id).toBe('mine');
  expect(await model.generate(request(reply, reply, reply))).toEqual({
    text: '',
    toolCalls: [],
    finishReason: 'stop',
  });
  const over = await model.generate(request(reply, reply, reply, reply));
  expect(over.text).toBe('The script is over: it has 4 steps, and this is step 5.');
});

it('stops at an aborted signal', async () => {
  const aborted = { ...request(user), signal: AbortSignal.abort(new Error('enough')) };
  await expect(scriptedModel(script).generate(aborted)).rejects.toThrow('enough');
});

describe('words', () => {
  const words = async (step: ScriptedStep, wordMs = 0) => {
    const taken: string[] = [];
    const asked = { ...request(user), onText: (text: string) => void taken.push(text) };
    const { text } = await scriptedModel([step], { wordMs }).generate(asked);
    return { taken, text };
  };

  it.each<[string, ScriptedStep, string[]]>([
    ['one by one', { text: 'one  two\n\nthree ' }, ['one', '  two', '\n\nthree', ' ']],
    ['none of an empty reply', {}, []],
    ['blanks alone', { text: '  ' }, ['  ']],
    [
      'as a function of the script gives them',
      ({ onText }) => {
        onText?.('one two');
        return { text: 'one two' };
      },
      ['one two'],
    ],
  ])('are streamed %s', async (_case, step, expected) => {
    const { taken, text } = await words(step, 1);
    expect(taken).toEqual(expected);
    expect(text).toBe(expected.join(''));
  });
});
