import {
  forgetTyped,
  keepTyped,
  loadTyped,
  NOTHING_TYPED,
  type Typed,
  typedParts,
} from '../../src/web/kept-input';

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

it('keeps what was typed for its person and its version of the page', () => {
  const ann = { user: 'ann', version: '1' };
  keepTyped(ann, 't/1.1', TYPED);
  expect(loadTyped(ann, 't/1.1')).toEqual(TYPED);
  expect(loadTyped({ ...ann, version: '2' }, 't/1.1')).toBeUndefined();
  expect(loadTyped({ ...ann, user: 'bob' }, 't/1.1')).toBeUndefined();
  forgetTyped(ann);
  expect(loadTyped(ann, 't/1.1')).toEqual(TYPED);
  forgetTyped({ user: 'bob', version: '1' });
  expect(loadTyped(ann, 't/1.1')).toBeUndefined();
});

it('tells what somebody would miss', () => {
  expect(typedParts(TYPED)).toBe('too much\n\nless\n\nthe bank says so\n\npaid\n\n{\n  "a": 2\n}\n\n/b 1x');
  expect(typedParts(NOTHING_TYPED)).toBeUndefined();
  expect(typedParts({ ...NOTHING_TYPED, reason: ' \n' })).toBeUndefined();
  const untouched = { draft: { value: { a: 1 }, texts: {} }, from: { a: 1 }, seen: 'x' };
  expect(typedParts({ ...NOTHING_TYPED, args: untouched })).toBeUndefined();
});
