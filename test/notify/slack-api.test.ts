import { openSlack, type SlackApi } from '../../src/notify/slack-api';
import { whisperOf } from '../../src/notify/slack-text';
import { APP_TOKEN, BOT_TOKEN, startSlackServer, type SlackServer } from './slack-server';

let server: SlackServer;
let api: SlackApi;

beforeEach(async () => {
  server = await startSlackServer();
  api = await openSlack({ api: server.api, token: BOT_TOKEN, appToken: APP_TOKEN });
});
afterEach(() => server.close());

const message = whisperOf('hello');

it('says who it is, and asks once', async () => {
  const who = { team: 'T1', teamName: 'Acme', bot: 'B1', name: 'countersign' };
  expect([await api.identify(), await api.identify()]).toEqual([who, who]);
  expect(server.calls.map(({ method }) => method)).toEqual(['auth.test']);
});

it('has Slack look for nothing in a text', async () => {
  await api.post('C1', message, 'msg_a');
  expect(server.calls[0]?.body).toMatchObject({
    ...{ parse: 'none', mrkdwn: 'false', link_names: 'false', unfurl_links: 'false', unfurl_media: 'false' },
  });
});

it('finds what it posted, on a later page, to a person too', async () => {
  const since = Date.now();
  await api.post('U1', message, 'msg_a');
  const place = await api.post('U1', message, 'msg_b');
  expect(await api.find({ target: 'U1', notice: 'msg_b', since })).toEqual(place);
  expect(await api.find({ target: 'U1', notice: 'msg_c', since })).toBeUndefined();
  expect(await api.find({ target: 'C1', notice: 'msg_b', since })).toBeUndefined();
  server.script('conversations.history', { error: 'missing_scope' });
  expect(await api.find({ target: 'C1', notice: 'msg_b', since })).toBeUndefined();
});

it.each([
  ['a limit', { limited: 7 }, /fewer messages/, { retryInMs: 7000, holdsAll: true, isRefused: true }],
  ['a bad token', { error: 'token_revoked' }, /refused the token/, { retryInMs: 900_000, holdsAll: true }],
  ['a channel', { error: 'not_in_channel' }, /refused it: not_in_channel/, { retryInMs: 3_600_000 }],
  ['an outage', { error: 'internal_error' }, /Slack failed/, {}],
  ['no answer', 'down', /could not be reached/, {}],
] as const)('says what is wrong with %s, without a token', async (_name, scripted, why, data) => {
  server.script('chat.postMessage', scripted);
  const refused: unknown = await api.post('C1', message, 'msg_a').catch((error: unknown) => error);
  expect(refused).toMatchObject({ message: expect.stringMatching(why), data });
  expect(JSON.stringify(refused) + String(refused)).not.toContain('s3cret');
  expect(server.calls).toHaveLength(1);
});

it('looks whether clicks could come', async () => {
  await api.checkSocket();
  const other = await openSlack({ api: server.api, token: BOT_TOKEN, appToken: 'xapp-wrong' });
  await expect(other.checkSocket()).rejects.toThrow(/refused the token: invalid_auth/);
});
