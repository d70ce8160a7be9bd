import fc from 'fast-check';
import { CountersignError } from '../../src/contract/errors';
import { parseToolCalls, uniqueIds } from '../../src/tools/parse-calls';

const entry = {
  id: 'call_abc123',
  type: 'function',
  function: { name: 'read_file', arguments: '{"path": "/src/main.ex"}' },
};
const call = { id: 'call_abc123', name: 'read_file', arguments: '{"path": "/src/main.ex"}' };
const message = { role: 'assistant', content: null, tool_calls: [entry] };

it.each<[string, unknown]>([
  [
    'a response',
    { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
  ],
  ['a choice', { index: 0, message }],
  ['a message', message],
  ['only the calls', { tool_calls: [entry] }],
])('reads %s', (_, reply) => {
  expect(parseToolCalls(reply)).toEqual([call]);
});

it('keeps order, repeated ids and raw text as they are', () => {
  const odd = { ...entry, function: { name: 'x', arguments: '{not json' } };
  expect(parseToolCalls({ tool_calls: [odd, entry] })).toEqual([
    { ...call, name: 'x', arguments: '{not json' },
    call,
  ]);
});

it.each<[unknown, object]>([
  [null, { name: '', arguments: '' }],
  ['text', { name: '', arguments: '' }],
  [
    { id: 7, function: { name: 7 } },
    { name: '', arguments: '' },
  ],
  [
    { id: '', function: { name: 'x' } },
    { name: 'x', arguments: '' },
  ],
  [
    { id: 'a', function: { name: 'x', arguments: { a: 1 } } },
    { id: 'a', name: 'x', arguments: '{"a":1}' },
  ],
])('keeps the malformed entry %p for an error result', (malformed, expected) => {
  expect(parseToolCalls({ tool_calls: [malformed] })).toEqual([expected]);
});

it.each([
  [undefined],
  [null],
  ['{"tool_calls":[]}'],
  [{}],
  [{ choices: [] }],
  [{ choices: [null] }],
  [{ choices: [{ message: { content: 'hello' } }] }],
  [{ tool_calls: [] }],
  [{ tool_calls: null }],
  [{ tool_calls: 'x' }],
])('%p has no tool calls', (reply) => {
  expect(() => parseToolCalls(reply)).toThrow(CountersignError);
  expect(() => parseToolCalls(reply)).toThrow(expect.objectContaining({ code: 'no_tool_calls' }));
});

describe('uniqueIds', () => {
  it.each<[(string | undefined)[], string[]]>([
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      ['a', 'a', 'a'],
      ['a', 'call_2', 'call_3'],
    ],
    [
      [undefined, '', 'c'],
      ['call_1', 'call_2', 'c'],
    ],
    [
      [undefined, 'call_1'],
      ['call_1_1', 'call_1'],
    ],
    [
      ['call_2', 'call_2'],
      ['call_2', 'call_2_1'],
    ],
  ])('%p → %p', (ids, expected) => {
    expect(uniqueIds(ids.map((id) => ({ id })))).toEqual(expected);
  });

  it('are unique, and the first of each id keeps it', () => {
    const id = fc.option(fc.constantFrom('', 'a', 'b', 'call_1', 'call_2', 'call_3', 'call_2_1'), {
      nil: undefined,
    });
    fc.assert(
      fc.property(fc.array(id, { maxLength: 8 }), (ids) => {
        const unique = uniqueIds(ids.map((given) => ({ id: given })));
        expect(new Set(unique).size).toBe(ids.length);
        ids.forEach((given, index) => {
          if (given !== undefined && given !== '' && ids.indexOf(given) === index)
            expect(unique[index]).toBe(given);
        });
      }),
    );
  });
});
