import { outcomeIn } from '../../src/lifecycle/outcomes';
import { result } from '../history/script';
import { approvalsWith } from '../support/calls';

describe('what the activity of a call returned', () => {
  function settle(effect: 'unsafe' | 'pure', output: unknown) {
    const calls = approvalsWith({ kind: 'run', effect });
    calls.start('1.1', effect === 'unsafe' ? 'drawn' : undefined);
    return outcomeIn(calls.call(), output, 0);
  }

  it.each<[string, 'unsafe' | 'pure', object, string]>([
    ['its worker gives it back', 'unsafe', { notHere: 'no agent', secret: 'drawn' }, 'notHere'],
    ['somebody else gives it back', 'unsafe', { notHere: 'no agent' }, 'inDoubt'],
    ['somebody guesses the secret', 'unsafe', { notHere: 'no agent', secret: 'guessed' }, 'inDoubt'],
    ['a pure call is given back', 'pure', { notHere: 'no agent' }, 'notHere'],
    ['it cannot be read', 'unsafe', { notHere: 5 }, 'inDoubt'],
  ])('%s', (_, effect, output, kind) => {
    expect(Object.keys(settle(effect, output))).toEqual(expect.arrayContaining([kind]));
  });

  it('keeps only the result and its digest', () => {
    const output = { result: result('1.1'), contentDigest: 'd', cause: 'expired' };
    expect(settle('pure', output)).toEqual({ result: result('1.1'), contentDigest: 'd' });
  });
});
