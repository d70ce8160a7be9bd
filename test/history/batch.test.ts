import type { RequestOpened } from '../../src/history/events';
import { whyNoBatch, whyNotInBatch } from '../../src/history/batch';
import { proposal, request } from '../cli/support';

it.each<[string, RequestOpened, RegExp | undefined]>([
  ['nothing in particular', request(), undefined],
  ['a tool that wants it', request({ noBatch: true }), /decided on its own/],
  ['several hunks', proposal(), /2 hunks/],
  ['a character that does not show', request({ arguments: { to: 'ann\u202e' } }), /deceive the eye/],
])('a request is not approved with others because of %s', (_case, opened, why) => {
  if (why === undefined) expect(whyNotInBatch(opened)).toBeUndefined();
  else expect(whyNotInBatch(opened)).toMatch(why);
});

it.each([
  ['changed', 'its tool changed since this request was made'],
  ['gone', 'its tool is not there any more'],
] as const)('a request whose tool is %s is not approved with others', (changed, why) => {
  expect(whyNotInBatch(request(), changed)).toBe(why);
});

it('any of them is denied with others, but for a tool that wants each on its own', () => {
  expect(whyNoBatch(request({ noBatch: true }))).toMatch(/decided on its own/);
  for (const opened of [request(), proposal()]) expect(whyNoBatch(opened)).toBeUndefined();
});
