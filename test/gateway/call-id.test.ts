import { gatewayQueue, keyIn, placeOfCall } from '../../src/gateway/call-id';

const call = { who: 'ann', tool: 'files__write', arguments: { b: 1, a: 'x' } };

it.each([
  ['the same call', {}, true],
  ['the same arguments in another order', { arguments: { a: 'x', b: 1 } }, true],
  ['other arguments', { arguments: { b: 2, a: 'x' } }, false],
  ['another tool', { tool: 'files__move' }, false],
  ['another person', { who: 'bea' }, false],
  ['a call with an id', { key: ['mcp', '1'] }, false],
])('without an id, %s joins it or not', (_case, other, isSame) => {
  expect(placeOfCall({ ...call, ...other }).turn === placeOfCall(call).turn).toBe(isSame);
});

const named = { ...call, key: ['mcp', 'toolu_1'] };

it.each([
  ['the same id', {}, true, true],
  ['the same id for other arguments', { arguments: {} }, true, false],
  ['the same id for another tool', { tool: 'files__move' }, true, false],
  ['another id', { key: ['mcp', 'toolu_2'] }, false, true],
  ['the same id of a hook', { key: ['hook', 'toolu_1'] }, false, true],
  ['the same id of another person', { who: 'bea' }, false, false],
])('%s has the same turn and the same call, or not', (_case, other, isSameTurn, isSameCall) => {
  const [one, two] = [placeOfCall(named), placeOfCall({ ...named, ...other })];
  expect(two.turn === one.turn).toBe(isSameTurn);
  expect(JSON.stringify(two.memo) === JSON.stringify(one.memo)).toBe(isSameCall);
  expect(one.isNamed).toBe(true);
});

it.each([
  [undefined, undefined],
  [{}, undefined],
  [{ 'claudecode/toolUseId': '' }, undefined],
  [{ 'claudecode/toolUseId': 7 }, undefined],
  [{ 'claudecode/toolUseId': 'toolu_1', 'io.countersign/key': 'x' }, ['mcp', 'toolu_1']],
  [{ 'io.countersign/key': 'k'.repeat(300) }, ['mcp', 'k'.repeat(200)]],
])('the id of a request with %j', (meta, expected) => {
  expect(keyIn(meta)).toEqual(expected);
});

it('gives each file, server and machine a queue of its own', () => {
  const queues = [
    gatewayQueue('/a/countersign.config.ts', '', 'one'),
    gatewayQueue('/b/countersign.config.ts', '', 'one'),
    gatewayQueue('/a/countersign.config.ts', 'files', 'one'),
    gatewayQueue('/a/countersign.config.ts', '', 'two'),
  ];
  expect(new Set(queues).size).toBe(4);
  expect(queues[0]).toMatch(/^gateway-[0-9a-f]{12}@one$/);
});
