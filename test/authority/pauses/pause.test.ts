import {
  addPause,
  endPauses,
  type Pause,
  type PauseAsked,
  pauseOf,
  pauseText,
  readPauses,
} from '../../../src/authority/pauses/pause';
import { LIMITS } from '../../../src/contract/limits';
import { utf8Bytes } from '../../../src/contract/text/bytes';

const MADE = { id: 'p1', at: '2026-11-24T12:00:00.000Z' };
const asked = (part: Partial<PauseAsked> = {}): PauseAsked => ({ reason: 'an incident', by: 'ann', ...part });
const pause = (part: Partial<Pause> = {}): Pause => ({ ...asked(), ...MADE, ...part });

describe('adding a pause', () => {
  it('keeps who, when and why', () => {
    expect(addPause([], asked({ tool: 'pay' }), MADE)).toEqual({
      pauses: [pause({ tool: 'pay' })],
      taken: { pause: pause({ tool: 'pay' }) },
    });
  });

  it.each<[string, Partial<PauseAsked>, Partial<Pause>]>([
    ['of everything', {}, {}],
    ['of a tool', { tool: 'pay' }, { tool: 'pay' }],
    ['of model calls too', { models: true }, { models: true }],
    ['without the model calls that are held', {}, { models: true }],
  ])('leaves one that holds already as it is: %s', (_case, again, before) => {
    const standing = pause(before);
    const added = addPause([standing], asked({ ...again, reason: 'another', by: 'bob' }), {
      ...MADE,
      id: 'p2',
    });
    expect(added).toEqual({ pauses: [standing], taken: { pause: standing, already: true } });
  });

  it('takes the place of one that lets model calls through', () => {
    const added = addPause([pause({ agent: 'a' })], asked({ agent: 'a', models: true }), {
      ...MADE,
      id: 'p2',
    });
    expect(added).toMatchObject({ pauses: [{ id: 'p2', models: true }], taken: { pause: { id: 'p2' } } });
  });

  it.each<[string, Partial<PauseAsked>, RegExp]>([
    ['no reason', { reason: '' }, /say why/],
    ['a blank reason', { reason: ' \n ' }, /say why/],
    ['a terminal sequence', { reason: 'x\u001b[2J' }, /control characters/],
    [
      'a reason that is too long in bytes',
      { reason: 'ü'.repeat(LIMITS.pauseReasonBytes - 1) },
      /over 500 bytes/,
    ],
    ['model calls of a tool', { tool: 'pay', models: true }, /a tool has no model calls/],
  ])('refuses %s', (_case, part, why) => {
    expect(addPause([], asked(part), MADE)).toEqual({
      code: 'malformed',
      message: expect.stringMatching(why),
    });
  });

  it('says clearly that there is no room, and stays below the limit of the memo', () => {
    let pauses: Pause[] = [];
    const refused = new Set<string>();
    for (let n = 0; n < 10_000; n++) {
      const added = addPause(pauses, asked({ tool: `tool_${n}` }), MADE);
      if ('code' in added) refused.add(added.code);
      else ({ pauses } = added);
    }
    expect([...refused]).toEqual(['full']);
    expect(pauses.length).toBeGreaterThan(10);
    expect(utf8Bytes(JSON.stringify(pauses))).toBeLessThanOrEqual(LIMITS.memoBytes);
  });
});

describe('ending pauses', () => {
  const all = [pause(), pause({ tool: 'pay' }), pause({ agent: 'a', models: true })];

  it.each([
    ['a terminal sequence', 'x\u001b[2J', /control characters/],
    ['too many bytes', 'ü'.repeat(251), /over 500 bytes/],
  ])('does not take a reason with %s', (_case, reason, why) => {
    expect(endPauses(all, { all: true, reason })).toEqual({
      code: 'malformed',
      message: expect.stringMatching(why),
    });
  });

  it.each([
    ['that of everything', {}, [0]],
    ['that of a tool', { tool: 'pay' }, [1]],
    ['that of an agent', { agent: 'a' }, [2]],
    ['all', { all: true as const }, [0, 1, 2]],
  ])('ends %s', (_case, scope, ended) => {
    expect(endPauses(all, scope)).toEqual({
      ended: ended.map((at) => all[at]),
      pauses: all.filter((_one, at) => !ended.includes(at)),
    });
  });

  it.each([
    ['nothing is paused', [], {}, /nothing is paused/],
    ['nothing is paused, and all is meant', [], { all: true as const }, /nothing is paused/],
    [
      'only something else is',
      all,
      { tool: 'other' },
      /no pause is of calls of other; what is paused: all calls/,
    ],
  ])('refuses where %s', (_case, pauses, scope, message) => {
    expect(endPauses(pauses, scope)).toEqual({
      code: 'not_found',
      message: expect.stringMatching(message),
    });
  });
});

describe('what a pause holds', () => {
  const call = { agent: 'a', tool: 'pay' };
  const model = { agent: 'a' };
  it.each([
    ['everything', {}, call, true],
    ['everything', {}, model, false],
    ['everything with models', { models: true as const }, model, true],
    ['the agent', { agent: 'a' }, call, true],
    ['another agent', { agent: 'b' }, call, false],
    ['the agent with models', { agent: 'a', models: true as const }, model, true],
    ['another agent with models', { agent: 'b', models: true as const }, model, false],
    ['the tool', { tool: 'pay' }, call, true],
    ['another tool', { tool: 'look' }, call, false],
    ['the tool of the agent', { agent: 'a', tool: 'pay' }, call, true],
    ['the tool of another agent', { agent: 'b', tool: 'pay' }, call, false],
  ])('%s: %j holds %j: %s', (_case, scope, what, isHeld) => {
    expect(pauseOf([pause(scope)], what) !== undefined).toBe(isHeld);
  });

  it('is said in words', () => {
    expect(pauseText(pause({ agent: 'a', models: true }))).toBe(
      'ann paused all calls with an effect of agent a and its model calls since 2026-11-24 12:00 UTC: an incident',
    );
  });
});

it.each([
  ['nothing', undefined, []],
  ['null', null, []],
  ['pauses', [pause({ tool: 'pay', models: true })], [pause({ tool: 'pay', models: true })]],
  ['text', 'x', undefined],
  ['a pause without its reason', [{ ...pause(), reason: undefined }], undefined],
  ['a tool that is a number', [{ ...pause(), tool: 1 }], undefined],
  ['models that are not true', [{ ...pause(), models: 'yes' }], undefined],
])('reads %s in a memo', (_case, memo, expected) => {
  expect(readPauses(memo)).toEqual(expected);
});
