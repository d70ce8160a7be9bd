import { createAttempts } from '../../../src/server/auth/attempts';
import { createCodes } from '../../../src/server/auth/codes';
import { sameDigest, digestSecret } from '../../../src/server/auth/secrets';
import { createSessions } from '../../../src/server/auth/sessions';

const HOUR = 3600 * 1000;
let time: number;
const now = (): number => time;
beforeEach(() => (time = 0));

describe('sessions', () => {
  it('end after 12 hours without use; looking is no use', () => {
    const sessions = createSessions(now);
    const secret = sessions.open({ user: 'ann' });
    time += 11 * HOUR;
    expect(sessions.use(secret)).toEqual({ user: 'ann' });
    time += 11 * HOUR;
    expect(sessions.peek(secret)).toEqual({ user: 'ann' });
    time += HOUR;
    expect(sessions.peek(secret)).toBeUndefined();
    expect(sessions.use(secret)).toBeUndefined();
  });

  it('know no secret but their own, and none that is closed', () => {
    const sessions = createSessions(now);
    const secret = sessions.open({ user: 'ann' });
    const other = sessions.open({ user: 'bob' });
    for (const wrong of ['', secret.slice(1), `${secret} `, digestSecret(secret)])
      expect(sessions.use(wrong)).toBeUndefined();
    sessions.close(secret);
    expect(sessions.use(secret)).toBeUndefined();
    expect(sessions.use(other)).toEqual({ user: 'bob' });
  });

  it('are a thousand at most; the one that was idle longest gives way', () => {
    const sessions = createSessions(now);
    const [first, second] = [sessions.open({ user: 'first' }), sessions.open({ user: 'second' })];
    sessions.use(first);
    for (let n = 0; n < 999; n++) sessions.open({ user: 'more' });
    expect(sessions.use(second)).toBeUndefined();
    expect(sessions.use(first)).toEqual({ user: 'first' });
  });
});

describe('codes', () => {
  it('are good once, and known afterwards', () => {
    const codes = createCodes(now);
    const code = codes.draw();
    expect(codes.spend('x')).toBe('unknown');
    expect(codes.spend(code)).toBe('good');
    expect(codes.spend(code)).toBe('stale');
  });

  it('are good for 10 minutes', () => {
    const codes = createCodes(now);
    const [early, late] = [codes.draw(), codes.draw()];
    time = 599_999;
    expect(codes.spend(early)).toBe('good');
    time = 600_000;
    expect(codes.spend(late)).toBe('stale');
  });

  it('are twenty at most', () => {
    const codes = createCodes(now);
    const [first = '', ...rest] = Array.from({ length: 21 }, () => codes.draw());
    expect(codes.spend(first)).toBe('unknown');
    expect(rest.map((code) => codes.spend(code))).toEqual(rest.map(() => 'good'));
  });
});

describe('attempts', () => {
  it('are refused after ten failures within a minute, from that address only', () => {
    const attempts = createAttempts(now);
    for (let n = 0; n < 10; n++) {
      attempts.check('here');
      attempts.failed('here');
    }
    expect(() => attempts.check('here')).toThrow(expect.objectContaining({ code: 'too_many_attempts' }));
    attempts.check('there');
    time += 60_000;
    attempts.check('here');
  });
});

it.each([
  ['ab', 'ab', true],
  ['ab', 'ac', false],
  ['ab', 'abab', false],
  ['', '', true],
])('compares %s with %s: %s', (one, other, same) => {
  expect(sameDigest(one, other)).toBe(same);
});
