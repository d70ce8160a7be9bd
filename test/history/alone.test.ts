import { whyAlone } from '../../src/history/alone';
import { proposal, request } from '../cli/support';

it.each([
  ['nothing in particular', request(), undefined],
  ['a tool that wants it', request({ noBatch: true }), /decided on its own/],
  ['several hunks', proposal(), /2 hunks/],
  ['a character that does not show', request({ arguments: { to: 'ann\u202e' } }), /deceive the eye/],
])('a request is looked at alone because of %s', (_case, opened, why) => {
  if (why === undefined) expect(whyAlone(opened)).toBeUndefined();
  else expect(whyAlone(opened)).toMatch(why);
});
