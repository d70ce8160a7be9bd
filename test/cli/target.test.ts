import { findCall, waitingCallIds, parseTarget } from '../../src/cli/target';
import { call, request, turn } from './support';

describe('naming a turn or a call', () => {
  it.each([
    ['turn-1', { turn: 'turn-1' }],
    ['turn-1/1.2', { turn: 'turn-1', call: '1.2' }],
    ['t/1', { turn: 't', call: '1' }],
  ])('%s', (text, target) => {
    expect(parseTarget(text)).toEqual(target);
  });

  it.each(['', '/', '/1.1', 'turn-1/', 'a/b/c'])('refuses %j', (text) => {
    expect(() => parseTarget(text)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});

describe('finding a call', () => {
  const of = (callId: string) => call({ request: request({ callId }) });
  const view = turn([of('1.1'), of('1.10'), of('2.1')]);

  it.each([
    ['1.1', '1.1'],
    ['1.10', '1.10'],
    ['2', '2.1'],
    ['2.', '2.1'],
  ])('%s is %s', (named, callId) => {
    expect(findCall(view, named).callId).toBe(callId);
  });

  it.each([
    ['1', 'usage', /start of 2 calls/],
    ['9', 'not_found', /has no call 9/],
    [undefined, 'usage', /name the call as well/],
  ])('%s is refused with %s', (named, code, message) => {
    const find = (): unknown => findCall(view, named);
    expect(find).toThrow(message);
    expect(find).toThrow(expect.objectContaining({ code }));
  });

  it('guesses none, not even the only one, and says what is open', () => {
    const find = (): unknown => findCall(turn([of('1.1')]), undefined);
    expect(find).toThrow(expect.objectContaining({ code: 'usage', hint: 'Open: t-1/1.1' }));
  });

  it('says when nothing is open', () => {
    const done = turn([call({ phase: 'done' })]);
    expect(waitingCallIds(done)).toEqual([]);
    expect(() => findCall(done, undefined)).toThrow(
      expect.objectContaining({ hint: 'No call of it waits for a person.' }),
    );
  });
});
