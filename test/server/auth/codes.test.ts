import { Codes } from '../../../src/server/auth/codes';

let time: number;
/** The cache takes 0 for no time at all, which no clock says. */
const START = Date.parse('2026-01-01T00:00:00Z');
beforeEach(() => {
  time = START;
  jest.spyOn(Date, 'now').mockImplementation(() => time);
});
afterEach(() => jest.restoreAllMocks());

it('codes are good once, and known afterwards', () => {
  const codes = new Codes();
  const code = codes.draw();
  expect(codes.spend('x')).toBe('unknown');
  expect(codes.spend(code)).toBe('good');
  expect(codes.spend(code)).toBe('stale');
});

it('codes are good for 10 minutes', () => {
  const codes = new Codes();
  const [early, late] = [codes.draw(), codes.draw()];
  time = START + 599_999;
  expect(codes.spend(early)).toBe('good');
  time = START + 600_000;
  expect(codes.spend(late)).toBe('stale');
});

it('codes are twenty at most', () => {
  const codes = new Codes();
  const [first = '', ...rest] = Array.from({ length: 21 }, () => codes.draw());
  expect(codes.spend(first)).toBe('unknown');
  expect(rest.map((code) => codes.spend(code))).toEqual(rest.map(() => 'good'));
});
