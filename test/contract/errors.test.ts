import { runInNewContext } from 'node:vm';
import { asError, CountersignError, errnoOf, errorMessage } from '../../src/contract/errors';

const foreign: unknown = runInNewContext("Object.assign(new Error('far'), { code: 'EFAR' })");

it.each([
  ['an error', new Error('broken'), 'broken'],
  ['an error of another V8 context', foreign, 'far'],
  ['an error without a message', new Error(), ''],
  ['an object with a message', { message: 'told' }, 'told'],
  ['an object whose message is not text', { message: 7 }, '[object Object]'],
  ['text', 'oops', 'oops'],
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
])('errorMessage: %s', (_, thrown, message) => {
  expect(errorMessage(thrown)).toBe(message);
});

it.each([
  ['an error of the system', Object.assign(new Error(), { code: 'ENOENT' }), 'ENOENT'],
  ['an error of another V8 context', foreign, 'EFAR'],
  ['an error without a code', new Error(), undefined],
  ['a code that is a number', Object.assign(new Error(), { code: 5 }), undefined],
  ['text', 'ENOENT', undefined],
  ['null', null, undefined],
])('errnoOf: %s', (_, thrown, code) => {
  expect(errnoOf(thrown)).toBe(code);
});

it.each([
  ['text', 'oops', 'oops'],
  ['an object with a message', { message: 'far' }, 'far'],
])('asError: %s becomes the message of one', (_, thrown, message) => {
  expect(asError(thrown)).toEqual(new Error(message));
});

it('asError: an error stays the one it is', () => {
  const error = new CountersignError('usage', 'no');
  expect(asError(error)).toBe(error);
});

it('a CountersignError keeps code, hint, data and cause', () => {
  const cause = new Error('why');
  const error = new CountersignError('usage', 'wrong', { hint: 'do this', data: { a: 1 }, cause });
  expect(error).toMatchObject({ name: 'CountersignError', code: 'usage', message: 'wrong', cause });
  expect(error).toMatchObject({ hint: 'do this', data: { a: 1 } });
  expect(new CountersignError('usage', 'wrong')).toMatchObject({
    hint: undefined,
    data: {},
  });
});
