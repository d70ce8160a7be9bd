import { Attempts } from '../../../src/server/auth/attempts';

let time: number;
/** The cache takes 0 for no time at all, which no clock says. */
const START = Date.parse('2026-01-01T00:00:00Z');
beforeEach(() => {
  time = START;
  jest.spyOn(Date, 'now').mockImplementation(() => time);
});
afterEach(() => jest.restoreAllMocks());

it('attempts are refused after ten failures within a minute, from that address only', () => {
  const attempts = new Attempts();
  for (let n = 0; n < 10; n++) {
    attempts.check('here');
    attempts.failed('here');
  }
  expect(() => attempts.check('here')).toThrow(expect.objectContaining({ code: 'too_many_attempts' }));
  attempts.check('there');
  time += 60_000;
  attempts.check('here');
});

it('attempts count for a minute each, however many follow', () => {
  const attempts = new Attempts();
  for (let n = 0; n < 9; n++) attempts.failed('here');
  time += 59_999;
  attempts.check('here');
  attempts.failed('here');
  expect(() => attempts.check('here')).toThrow(expect.objectContaining({ code: 'too_many_attempts' }));
  // The first nine are over; the tenth counts for its own minute.
  time += 1;
  attempts.check('here');
  for (let n = 0; n < 9; n++) attempts.failed('here');
  expect(() => attempts.check('here')).toThrow(expect.objectContaining({ code: 'too_many_attempts' }));
});

it('attempts are known of ten thousand addresses; the one that failed longest ago gives way', () => {
  const attempts = new Attempts();
  for (let n = 0; n < 10; n++) attempts.failed('first');
  for (let n = 0; n < 10; n++) attempts.failed('second');
  for (let n = 0; n < 9_999; n++) attempts.failed(`address ${n}`);
  attempts.check('first');
  expect(() => attempts.check('second')).toThrow(expect.objectContaining({ code: 'too_many_attempts' }));
});
