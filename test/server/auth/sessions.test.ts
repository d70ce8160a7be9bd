import { digestSecret } from '../../../src/server/auth/secrets';
import { SignInSessions } from '../../../src/server/auth/sessions';

const HOUR = 3600 * 1000;
let time: number;
/** The cache takes 0 for no time at all, which no clock says. */
const START = Date.parse('2026-01-01T00:00:00Z');
beforeEach(() => {
  time = START;
  jest.spyOn(Date, 'now').mockImplementation(() => time);
});
afterEach(() => jest.restoreAllMocks());

it('sessions end after 12 hours without use; looking does not count as use', () => {
  const sessions = new SignInSessions();
  const secret = sessions.open({ user: 'ann', rights: [] });
  time += 11 * HOUR;
  expect(sessions.use(secret)).toEqual({ user: 'ann', rights: [] });
  time += 11 * HOUR;
  expect(sessions.peek(secret)).toEqual({ user: 'ann', rights: [] });
  time += HOUR;
  expect(sessions.peek(secret)).toBeUndefined();
  expect(sessions.use(secret)).toBeUndefined();
});

it('sessions know no secret but their own, and none that is closed', () => {
  const sessions = new SignInSessions();
  const secret = sessions.open({ user: 'ann', rights: [] });
  const other = sessions.open({ user: 'bob', rights: [] });
  for (const wrong of ['', secret.slice(1), `${secret} `, digestSecret(secret)])
    expect(sessions.use(wrong)).toBeUndefined();
  sessions.close(secret);
  expect(sessions.use(secret)).toBeUndefined();
  expect(sessions.use(other)).toEqual({ user: 'bob', rights: [] });
});

it('sessions are a thousand at most; the one that was idle longest gives way', () => {
  const sessions = new SignInSessions();
  const [first, second] = [
    sessions.open({ user: 'first', rights: [] }),
    sessions.open({ user: 'second', rights: [] }),
  ];
  sessions.use(first);
  for (let n = 0; n < 999; n++) sessions.open({ user: `more-${n}`, rights: [] });
  expect(sessions.use(second)).toBeUndefined();
  expect(sessions.use(first)).toEqual({ user: 'first', rights: [] });
});

it('one user has fifty sessions at most, and signs out nobody else by opening more', () => {
  const sessions = new SignInSessions();
  const other = sessions.open({ user: 'other', rights: [] });
  const own = Array.from({ length: 1_100 }, () => sessions.open({ user: 'ann', rights: [] }));
  expect(sessions.peek(other)).toEqual({ user: 'other', rights: [] });
  expect(own.filter((secret) => sessions.peek(secret) !== undefined)).toEqual(own.slice(-50));
});
