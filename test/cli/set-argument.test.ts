import { parseAssignments, setArgument } from '../../src/cli/set-argument';
import type { Json, JsonObject } from '../../src/contract/json';

describe('reading --set', () => {
  it.each<[string, string[], Json]>([
    ['amount=10', ['amount'], 10],
    ['name=Bob', ['name'], 'Bob'],
    ['name="10"', ['name'], '10'],
    ['on=true', ['on'], true],
    ['none=null', ['none'], null],
    ['list=[1,2]', ['list'], [1, 2]],
    ['text=', ['text'], ''],
    ['text=a=b', ['text'], 'a=b'],
    ['edits.0.new_text=Hello there', ['edits', '0', 'new_text'], 'Hello there'],
    ['a\\.b.c=1', ['a.b', 'c'], 1],
    ['a\\b=1', ['a\\b'], 1],
    ['json={"a":', ['json'], '{"a":'],
    ['order="9007199254740993"', ['order'], '9007199254740993'],
    ['amount=1.0', ['amount'], 1],
  ])('%s', (text, path, value) => {
    expect(parseAssignments([text])).toEqual([{ path, value }]);
  });

  it.each([
    ['order=9007199254740993', /--set order=9007199254740993: this number would become 9007199254740992/],
    ['amount=1e400', /too large/],
    ['rate=0.1000000000000000055', /would become 0\.1;/],
    ['list=[1,{"id":1,"id":2}]', /\/1\/id: this key is there twice/],
    ['name="\\ud800"', /half a character/],
  ])('refuses %s, which would not stay what was typed', (text, message) => {
    expect(() => parseAssignments([text])).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }),
    );
  });

  it.each(['amount', '=3', '', '.=1', 'a..b=1', 'a.=1', '.a=1'])('refuses %j', (text) => {
    expect(() => parseAssignments([text])).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});

describe('setting an argument', () => {
  const args: JsonObject = { amount: 1, to: { name: 'ann' }, edits: [{ new_text: 'x' }], none: null };
  const set = (text: string): JsonObject => parseAssignments([text]).reduce(setArgument, args);

  it.each<[string, JsonObject]>([
    ['amount=2', { amount: 2 }],
    ['to.name=bob', { to: { name: 'bob' } }],
    ['to.city=Bonn', { to: { name: 'ann', city: 'Bonn' } }],
    ['new.deep.er=1', { new: { deep: { er: 1 } } }],
    ['edits.0.new_text=y', { edits: [{ new_text: 'y' }] }],
    ['edits.1=z', { edits: [{ new_text: 'x' }, 'z'] }],
  ])('%s', (text, change) => {
    expect(set(text)).toEqual({ ...args, ...change });
  });

  it('leaves what it was given as it was', () => {
    const before = structuredClone(args);
    set('edits.0.new_text=changed');
    expect(args).toEqual(before);
  });

  it.each([
    ['amount.x=1', /a number has no places/],
    ['none.x=1', /null has no places/],
    ['edits.first=1', /'first' is not a place in a list/],
    ['edits.5=1', /the list has 1 places/],
    ['edits.-1=1', /is not a place in a list/],
  ])('refuses %s', (text, message) => {
    expect(() => set(text)).toThrow(message);
  });

  it.each(['__proto__.evil=1', 'constructor.prototype.evil=1'])('%s reaches no prototype', (text) => {
    const changed = set(text);
    expect(Object.hasOwn(Object.prototype, 'evil')).toBe(false);
    expect(Object.getPrototypeOf(changed)).toBe(Object.prototype);
    expect(JSON.stringify(changed)).toContain('"evil":1');
  });
});

describe('reading every --set of a command line', () => {
  it.each([
    [['a=1', 'a=2'], /--set a=1 and --set a=2 set the same place/],
    [['a=1', 'a=1'], /set the same place/],
    [['a.b.0=1', 'c=2', 'a.b.0=3'], /--set a\.b\.0=1 and --set a\.b\.0=3/],
  ])('refuses %j', (texts, message) => {
    expect(() => parseAssignments(texts)).toThrow(expect.objectContaining({ code: 'usage' }));
    expect(() => parseAssignments(texts)).toThrow(message);
  });

  it('keeps the order: a place in what was set before is another place', () => {
    const set = parseAssignments(['to={"name":"ann","city":"Bonn"}', 'to.name=bob', 'a\\.b=1', 'a.b=2']);
    expect(set.reduce(setArgument, {})).toEqual({
      to: { name: 'bob', city: 'Bonn' },
      'a.b': 1,
      a: { b: 2 },
    });
  });
});
