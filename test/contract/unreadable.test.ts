import { noteUnreadable, whyUnreadable } from '../../src/contract/unreadable';

test('a noted value says why, and looks as it did', () => {
  const value = noteUnreadable({}, { why: 'no key', waits: true });
  expect(whyUnreadable(value)).toEqual({ why: 'no key', waits: true });
  expect(JSON.stringify(value)).toBe('{}');
  expect(Object.keys(value)).toEqual([]);
});

test.each([[{ why: 'x', waits: true }], [{}], [null], ['text'], [undefined], [[]]])(
  'nobody can send a value that passes for one: %j',
  (value) => {
    expect(whyUnreadable(value)).toBeUndefined();
  },
);
