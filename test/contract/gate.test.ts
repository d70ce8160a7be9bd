import { argumentsIn, argumentsToRun, gateMark, shownJson, whyRunIsFull } from '../../src/contract/gate';

const from = { tool: 'name', arguments: 'input' };

it.each<[string, Parameters<typeof argumentsIn>[0], unknown[], unknown]>([
  ['the first argument', {}, [{ a: 1 }], { args: { a: 1 } }],
  ['nothing', {}, [], { args: {} }],
  ['the first of others that are undefined', {}, [{ a: 1 }, undefined], { args: { a: 1 } }],
  ['positional arguments', { args: ['a', 'b'] }, [1], { args: { a: 1, b: undefined } }],
  ['a field of the first', { from }, [{ name: 'pay', input: { a: 1 } }], { tool: 'pay', args: { a: 1 } }],
  ['no others', {}, [{ a: 1 }, 2], expect.stringContaining('name them all in `args`')],
  ['no more than are named', { args: ['a'] }, [1, 2], expect.stringContaining('`args` names 1')],
  [
    'no tool whose name people cannot be shown',
    { from },
    [{ name: '削除', input: {} }],
    expect.stringContaining('that people can be shown'),
  ],
  ['no field that is not there', { from }, ['x'], expect.stringContaining('no name of a tool in `name`')],
])('the arguments of a call are %s', (_, name, given, found) => {
  expect(argumentsIn(name, given)).toEqual(found);
});

it.each<[string, Parameters<typeof argumentsIn>[0], unknown[], unknown[]]>([
  ['the first argument', {}, [{ a: 1 }], [{ a: 2 }]],
  ['positional arguments', { args: ['a', 'b'] }, [1], [2, undefined]],
  [
    'a field of the first',
    { from },
    [{ name: 'pay', input: { a: 1 }, token: 't' }],
    [{ name: 'pay', input: { a: 2 }, token: 't' }],
  ],
])('other arguments take the place of %s', (_, name, given, changed) => {
  const { tool } = { tool: undefined, ...Object(argumentsIn(name, given)) };
  expect(argumentsToRun(name, given, { args: { a: 2 }, tool })).toEqual(changed);
});

it('what the workflow gave runs as it was, if people were shown just that', () => {
  const first = { name: 'pay', input: { a: 1, b: undefined } };
  expect(argumentsToRun({ from }, [first], { args: { a: 1 }, tool: 'pay' })[0]).toBe(first);
});

it('the tool that people were shown runs, whatever the workflow does with its objects meanwhile', () => {
  const given = [{ name: 'payAll', input: { a: 1 }, token: 't' }];
  expect(argumentsToRun({ from }, given, { args: { a: 1 }, tool: 'pay' })).toEqual([
    { name: 'pay', input: { a: 1 }, token: 't' },
  ]);
});

it('a mark is of the names and of how they are read, in any order', () => {
  const [a, b] = [{ caller: 'code' } as const, { caller: 'model', args: ['x'] } as const];
  expect(gateMark({ a, b })).toBe(gateMark({ b, a }));
  expect(gateMark({ a, b })).not.toBe(gateMark({ a, b: { ...b, args: ['y'] } }));
  expect(gateMark({ a })).not.toBe(gateMark({ a: { ...a, from } }));
});

it.each<[string, unknown, string | undefined]>([
  ['an object', { a: [1, 'x', null] }, '{"a":[1,"x",null]}'],
  ['a time, as its text', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
  [
    'an object of a class',
    {
      a: new (class {
        b = 1;
      })(),
    },
    '{"a":{"b":1}}',
  ],
  ['no map, which JSON would show as {}', { a: new Map([[1, 2]]) }, undefined],
  ['no set in a list', [new Set([1])], undefined],
  ['no bigint', { a: 1n }, undefined],
  ['no bytes', { a: new Uint8Array(2) }, undefined],
])('people are shown %s', (_, args, shown) => {
  expect(shownJson(args)).toBe(shown);
});

describe('a run takes a call', () => {
  const used = { historyLength: 20_000, historySize: 10e6, updates: 1000, open: 10 };

  it('while the server has room for it', () => {
    expect(whyRunIsFull(used)).toBeUndefined();
  });

  it.each<[string, Partial<typeof used>, RegExp]>([
    ['events', { historyLength: 47_800 }, /has 47800 events and 10 open calls, of 51,200 events/],
    ['open calls', { open: 1200 }, /has 20000 events and 1200 open calls/],
    ['bytes', { historySize: 46.5e6 }, /has 46 MB, of 50/],
    ['messages', { updates: 1945 }, /has taken 1945 messages and has 10 open calls, of 2,000 messages/],
  ])('and not with more %s, and says so', (_, more, why) => {
    expect(whyRunIsFull({ ...used, ...more })).toMatch(why);
    expect(whyRunIsFull({ ...used, ...more })).toMatch(/continue as new before the call$/);
  });
});
