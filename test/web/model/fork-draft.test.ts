import type { CallView } from '../../../src/history/view-types';
import { draftFor, type ForkDraft, toForkBody, waysFor, whyNotFork } from '../../../src/web/model/fork-draft';

describe('a fork', () => {
  const schema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
  const call = (more: object = {}): CallView =>
    JSON.parse(JSON.stringify({ callId: '2.1', tool: 'pay', effective: { amount: 5 }, ...more }));
  const asked = call({ request: { schema } });
  const draft = (more: Partial<ForkDraft> = {}): ForkDraft => ({ ...draftFor(asked), ...more });
  const typed = { value: { amount: 5 }, texts: { '': { text: '{', problem: 'is not whole' } } };

  it('begins with what ran, dry, and with the model of the agent', () => {
    expect(toForkBody('2.1', draftFor(asked))).toEqual({
      at: '2.1',
      change: { what: 'arguments', arguments: { amount: 5 } },
    });
  });

  it.each<[string, Partial<ForkDraft>, object]>([
    [
      'other arguments',
      { args: { value: { amount: 7 }, texts: {} } },
      { what: 'arguments', arguments: { amount: 7 } },
    ],
    ['an approval', { way: 'approved' }, { what: 'decision', decision: 'approved' }],
    [
      'a denial with its reason',
      { way: 'denied', reason: ' too much ' },
      { what: 'decision', decision: 'denied', reason: 'too much' },
    ],
    ['a denial with blanks only', { way: 'denied', reason: '  ' }, { what: 'decision', decision: 'denied' }],
    [
      'an answer',
      { way: 'reply', reply: ' No. ', reason: 'of another way' },
      { what: 'reply', reply: { text: 'No.' } },
    ],
  ])('sends %s', (_name, more, change) => {
    expect(toForkBody('2.1', draft(more))).toEqual({ at: '2.1', change });
  });

  it('sends a model and the live world only where they are chosen', () => {
    expect(toForkBody('2.1', draft({ way: 'same', model: ' other ', live: true }))).toEqual({
      ...{ at: '2.1', model: 'other', live: true },
    });
    expect(toForkBody('2.1', draft({ way: 'same' }))).toEqual({ at: '2.1' });
  });

  it('offers a decision only where somebody was asked', () => {
    expect(waysFor(asked)).toEqual(['arguments', 'approved', 'denied', 'reply', 'same']);
    expect(waysFor(call())).toEqual(['arguments', 'reply', 'same']);
  });

  it.each<[string, Partial<ForkDraft>, RegExp | undefined]>([
    ['nothing against what ran', {}, undefined],
    ['arguments that do not fit', { args: { value: { amount: 'x' }, texts: {} } }, /corrected/],
    ['arguments that are not JSON', { args: typed }, /corrected/],
    ['what another way would not take', { way: 'same', args: typed }, undefined],
    ['an answer without words', { way: 'reply', reply: ' \n' }, /Write the answer/],
    ['an approval for real', { way: 'approved', live: true }, /asks a person again/],
    ['a denial for real', { way: 'denied', live: true }, undefined],
  ])('says of %s why not', (_name, more, why) => {
    const found = whyNotFork(draft(more), asked);
    if (why === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(why);
  });

  it('takes any object where the record has no schema', () => {
    expect(whyNotFork(draft({ args: { value: { anything: 1 }, texts: {} } }), call())).toBeUndefined();
    expect(whyNotFork(draft({ args: typed }), call())).toMatch(/corrected/);
  });
});
