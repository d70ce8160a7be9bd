import { NOTHING_TYPED, readTyped, type Typed, typedParts } from '../../src/web/kept-input';

const again = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const TYPED: Typed = {
  reason: 'too much',
  suggestion: 'less',
  args: {
    draft: { value: { a: 2 }, texts: { '/b': { text: '1x', problem: 'has to be a number' } } },
    from: { a: 1 },
    seen: 'abc',
  },
  hunks: { ticked: ['1', '3'], seen: 'abc' },
  answer: 'happened',
  content: 'paid',
  how: 'the bank says so',
};

it('reads back what was typed at a call', () => {
  expect(readTyped(again(TYPED))).toEqual(TYPED);
  expect(readTyped(again(NOTHING_TYPED))).toEqual({
    ...NOTHING_TYPED,
    ...{ args: undefined, hunks: undefined, answer: undefined },
  });
});

it.each([null, 5, 'text', []])('takes %j for nothing', (left) => {
  expect(readTyped(left)).toBeUndefined();
});

it('keeps the rest where a part is of another version', () => {
  const left = {
    reason: 'kept',
    args: { draft: { value: [], texts: {} } },
    hunks: ['1'],
    answer: 'maybe',
    how: 1,
  };
  expect(readTyped(left)).toEqual({
    ...{ reason: 'kept', suggestion: '', content: '', how: '' },
    ...{ args: undefined, hunks: undefined, answer: undefined },
  });
});

it('tells what somebody would miss', () => {
  expect(typedParts(TYPED)).toBe('too much\n\nless\n\nthe bank says so\n\npaid\n\n{\n  "a": 2\n}\n\n/b 1x');
  expect(typedParts(NOTHING_TYPED)).toBeUndefined();
  expect(typedParts({ ...NOTHING_TYPED, reason: ' \n' })).toBeUndefined();
  const untouched = { draft: { value: { a: 1 }, texts: {} }, from: { a: 1 }, seen: 'x' };
  expect(typedParts({ ...NOTHING_TYPED, args: untouched })).toBeUndefined();
});
