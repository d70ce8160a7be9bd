import {
  hrefOf,
  parametersOf,
  parseRoute,
  queryOf,
  signInCode,
  type Route,
} from '../../../src/web/model/route';

const ROUTES: [string, Route][] = [
  ['#/', { at: 'inbox' }],
  ['#/?tool=pay&text=a%3Fb', { at: 'inbox', query: 'tool=pay&text=a%3Fb' }],
  ['#/turns?state=waiting', { at: 'turns', query: 'state=waiting' }],
  ['#/turns/t-1/calls/1.2?doubt=1', { at: 'call', turn: 't-1', callId: '1.2', query: 'doubt=1' }],
  ['#/turns', { at: 'turns' }],
  ['#/stats', { at: 'named', name: 'stats' }],
  ['#/push', { at: 'named', name: 'push' }],
  ['#/conversations', { at: 'conversations' }],
  ['#/conversations?agent=clerk', { at: 'conversations', query: 'agent=clerk' }],
  ['#/conversations/s-1', { at: 'conversation', session: 's-1' }],
  ['#/conversations/a%2Fb?agent=c&queue=d', { at: 'conversation', session: 'a/b', start: 'agent=c&queue=d' }],
  ['#/decided', { at: 'named', name: 'decided' }],
  ['#/refused', { at: 'named', name: 'refused' }],
  ['#/grants', { at: 'named', name: 'grants' }],
  ['#/turns/t-1', { at: 'turn', turn: 't-1' }],
  ['#/turns/t-1/steps/3', { at: 'turn', turn: 't-1', step: '3' }],
  ['#/turns/t-1/steps/3.1', { at: 'turn', turn: 't-1', step: '3.1' }],
  ['#/turns/t-1/calls/1.2', { at: 'call', turn: 't-1', callId: '1.2' }],
  ['#/turns/a%2Fb%23c', { at: 'turn', turn: 'a/b#c' }],
];

it.each(ROUTES)('%s is a place', (fragment, route) => {
  expect(parseRoute(fragment)).toEqual(route);
  expect(hrefOf(route)).toBe(fragment);
});

it.each(['', '#', '#code=abc'])('%j leads to the inbox', (fragment) => {
  expect(parseRoute(fragment)).toEqual({ at: 'inbox' });
});

it.each([
  '//',
  'inbox/1',
  'stats/1',
  'turns//calls/1.1',
  'turns/t/calls',
  'turns/t/calls/1/2',
  'conversations/s/t',
])('#/%s is nowhere', (place) => {
  const route = parseRoute(`#/${place}`);
  expect(route).toEqual({ at: 'nowhere', place });
  expect(hrefOf(route)).toBe(`#/${place}`);
});

it('takes any single part for the name of a screen', () => {
  expect(parseRoute('#/a%2Fb/?c')).toEqual({ at: 'named', name: 'a/b' });
  expect(hrefOf({ at: 'named', name: 'a/b' })).toBe('#/a%2Fb');
});

it('takes what cannot be decoded as it is', () => {
  expect(parseRoute('#/turns/%E0%A4%A')).toEqual({ at: 'turn', turn: '%E0%A4%A' });
});

it.each([
  ['#code=abc', 'abc'],
  ['#code=a%2Bb', 'a+b'],
  ['#code=', undefined],
  ['#/turns', undefined],
  ['', undefined],
])('the code of %j is %j', (fragment, code) => {
  expect(signInCode(fragment)).toBe(code);
});

it('writes and reads parameters, without those that are empty', () => {
  const query = queryOf({ text: 'a & b=c', tool: '', agent: undefined });
  expect(query).toBe('text=a+%26+b%3Dc');
  expect(parametersOf(query, ['text', 'tool'])).toEqual({ text: 'a & b=c', tool: '' });
});
