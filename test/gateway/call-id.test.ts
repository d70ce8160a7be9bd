import { gatewayQueue, keyIn, placeOfCall } from '../../src/gateway/call-id';

const at = { agent: 'gateway', taskQueue: 'q' };
const call = { who: 'ann', tool: 'files__write', arguments: { b: 1, a: 'x' } };

const named = { ...call, key: ['mcp', 'toolu_1'] };

it.each([
  ['the same call', {}, true],
  ['the same arguments in another order', { arguments: { a: 'x', b: 1 } }, true],
  ['other arguments', { arguments: { b: 2, a: 'x' } }, false],
  ['another tool', { tool: 'files__move' }, false],
  ['another person', { who: 'bea' }, false],
  ['a call with an id', { key: ['mcp', '1'] }, false],
])('without an id, %s joins it or not', (_case, other, isSame) => {
  expect(placeOfCall({ ...call, ...other }, at).turn === placeOfCall(call, at).turn).toBe(isSame);
});

it.each([
  ['another agent', { agent: 'clerk' }],
  ['another machine', { taskQueue: 'r' }],
])('without an id, a call of %s does not join it; with one, it does', (_case, other) => {
  const turns = (one: typeof call) =>
    new Set([at, { ...at, ...other }].map((of) => placeOfCall(one, of).turn));
  expect([turns(call).size, turns(named).size]).toEqual([2, 1]);
});

it.each([
  ['the same id', {}, true, true],
  ['the same id for other arguments', { arguments: {} }, true, false],
  ['the same id for another tool', { tool: 'files__move' }, true, false],
  ['another id', { key: ['mcp', 'toolu_2'] }, false, true],
  ['the same id of a hook', { key: ['hook', 'toolu_1'] }, false, true],
  ['the same id of another person', { who: 'bea' }, false, false],
])('%s has the same turn and the same call, or not', (_case, other, isSameTurn, isSameCall) => {
  const [one, two] = [placeOfCall(named, at), placeOfCall({ ...named, ...other }, at)];
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
  [{ 'io.countersign/key': 'k'.repeat(300) }, ['mcp', 'k'.repeat(300)]],
])('the id of a request with %j', (meta, expected) => {
  expect(keyIn(meta)).toEqual(expected);
});

it('gives each file, server, user and machine a queue of its own', () => {
  const mine = { user: 'ann', host: 'one' };
  const queues = [
    gatewayQueue('/a/countersign.config.ts', '', mine),
    gatewayQueue('/b/countersign.config.ts', '', mine),
    gatewayQueue('/a/countersign.config.ts', 'files', mine),
    gatewayQueue('/a/countersign.config.ts', '', { ...mine, user: 'bea' }),
    gatewayQueue('/a/countersign.config.ts', '', { ...mine, host: 'two' }),
  ];
  expect(new Set(queues).size).toBe(5);
  expect(queues[0]).toMatch(/^gateway-[0-9a-f]{12}@one$/);
});
