import { argumentsIn, gateMark, withArguments } from '../../src/contract/gate';

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
  expect(withArguments(name, given, { a: 2 })).toEqual(changed);
});

it('a mark is of the names and of how they are read, in any order', () => {
  const [a, b] = [{ caller: 'code' } as const, { caller: 'model', args: ['x'] } as const];
  expect(gateMark({ a, b })).toBe(gateMark({ b, a }));
  expect(gateMark({ a, b })).not.toBe(gateMark({ a, b: { ...b, args: ['y'] } }));
  expect(gateMark({ a })).not.toBe(gateMark({ a: { ...a, from } }));
});
