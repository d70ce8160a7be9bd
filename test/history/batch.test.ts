import type { RequestOpened } from '../../src/history/events';
import { whyNoBatch, whyNotInBatch, whySigned } from '../../src/history/batch';
import { ruled } from '../cli/notify/support';
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

it('the page denies any of them with others, but for a tool that wants each on its own', () => {
  expect(whyNoBatch(request({ noBatch: true }))).toMatch(/decided on its own/);
  for (const opened of [request(), proposal()]) expect(whyNoBatch(opened)).toBeUndefined();
});

it.each<[string, RequestOpened, RegExp | undefined]>([
  ['no rule', request(), undefined],
  ['a rule that a claim satisfies', ruled('claimed'), undefined],
  ['a rule for people who are signed in', ruled('signed_in'), /wants each one signed in/],
  ['a rule for own keys', ruled('signed'), /wants each one signed/],
])('a terminal leaves out what it would have to sign: %s', (_case, opened, why) => {
  if (why === undefined) expect(whySigned(opened)).toBeUndefined();
  else expect(whySigned(opened)).toMatch(why);
});
