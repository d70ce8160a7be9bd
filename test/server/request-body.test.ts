import { useOfflineApp } from './support';

const { app, cookie } = useOfflineApp();

const decide = (body: string): Promise<Response> =>
  app().ask('/api/turns/t/decisions', { cookie: cookie(), body });

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const decision = (fields: object): string =>
  JSON.stringify({
    callId: '1.1',
    decision: 'approved',
    seenDigest: 'd'.repeat(64),
    callKey: 'k:1.1',
    ...fields,
  });

it.each([
  ['nothing', '', 400],
  ['no JSON', '{', 400],
  ['no object', '"approved"', 400],
  ['a list', '[]', 400],
  ['null', 'null', 400],
  ['a number', '1', 400],
  ['10,000 levels', nested(10_000), 400],
  ['65 levels', nested(65), 400],
  ['deep arguments', decision({ decision: 'modified', arguments: { a: JSON.parse(nested(63)) } }), 400],
  ['a number that JSON cannot write', decision({}).replace('"1.1"', '1e999'), 400],
  ['a number that would become another', decision({}).replace('"1.1"', '9007199254740993'), 400],
  ['a key that is there twice', decision({}).replace('"callId"', '"callId":"1.2","callId"'), 400],
  ['half a character', decision({ reason: '\ud800' }), 400],
  ['a key __proto__', decision({}).replace('"callId"', '"__proto__":{},"callId"'), 400],
  ['a million keys', `{${Array.from({ length: 1e6 }, (_, n) => `"k${n}":1`).join(',')}}`, 413],
  ['as much as a message of a conversation may have', JSON.stringify({ reason: 'x'.repeat(2 ** 20) }), 400],
  ['2 MiB', JSON.stringify({ reason: 'x'.repeat(2 ** 21) }), 413],
])('refuses %s with %i', async (_what, body, status) => {
  const response = await decide(body);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ code: status === 413 ? 'too_large' : 'usage' });
});

it.each([
  ['no digest of what was shown', { seenDigest: undefined }, 'seenDigest'],
  ['no key of the call', { callKey: undefined }, 'callKey'],
  ['an empty digest', { seenDigest: '' }, 'seenDigest'],
  ['a call id that clears the screen', { callId: '1.1\u001b[2K\r' }, 'callId'],
  ['a call id that is a command', { callId: '$(id)' }, 'callId'],
  ['a call id of 65 letters', { callId: 'x'.repeat(65) }, 'callId'],
  ['another word', { decision: 'yes' }, 'decision'],
  ['an approver', { approver: 'ann' }, 'approver'],
  ['a channel', { channel: 'cli' }, 'channel'],
  ['a claim of being signed in', { authenticated: true }, 'authenticated'],
  ['arguments that are a list', { decision: 'modified', arguments: [] }, 'arguments'],
  ['hunks that are numbers', { hunks: [1] }, 'hunks'],
  ['a reason of 1 MB', { reason: 'x'.repeat(1_000_000) }, 'reason'],
  ['a reason over 4 KiB in bytes', { reason: 'é'.repeat(2_049) }, 'reason'],
  ['a reason that clears the screen', { reason: 'fine\u001b[2J' }, 'reason'],
  ['a reason that overwrites itself', { reason: 'denied\rapproved' }, 'reason'],
  ['a reason with C1 controls', { reason: '\u009b2J' }, 'reason'],
])('refuses a decision with %s and names the field', async (_what, fields, field) => {
  const response = await decide(decision(fields));
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: { code: 'usage', message: expect.stringContaining(field) },
  });
});

it.each([
  [{ callId: '1.1', resolution: 'happened' }, 'callKey'],
  [{ callId: '1.1', resolution: 'maybe', callKey: 'k' }, 'resolution'],
  [{ callId: '1.1', resolution: 'happened', callKey: 'k', approver: 'ann' }, 'approver'],
])('refuses the resolution %j', async (json, field) => {
  const response = await app().ask('/api/turns/t/resolutions', { cookie: cookie(), json });
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining(field) },
  });
});

it('sends nothing on of what it refused', () => {
  expect(app().reported).toEqual([]);
});
