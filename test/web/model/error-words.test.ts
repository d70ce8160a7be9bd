import { errorWords } from '../../../src/web/model/error-words';

it.each([
  ['one without a hint', { message: 'gone' }, 'gone'],
  ['one of the desk', { message: 'gone', hint: 'look again' }, 'gone; look again'],
  ['a sentence', { message: 'It is gone.', hint: 'Look again.' }, 'It is gone. Look again.'],
])('%s', (_, error, words) => {
  expect(errorWords({ code: 'x', ...error })).toBe(words);
});
