import { openSlack, type SlackApi } from '../../src/notify/slack-api';
import { keepListening } from '../../src/notify/slack-socket';
import { until } from '../support/until';
import { APP_TOKEN, BOT_TOKEN, startSlackServer, type SlackServer } from './slack-server';

let server: SlackServer;
let api: SlackApi;
const notes: string[] = [];
const note = (line: string): void => void notes.push(line);

beforeEach(async () => {
  notes.length = 0;
  server = await startSlackServer();
  api = await openSlack({ api: server.api, token: BOT_TOKEN, appToken: APP_TOKEN });
});
afterEach(() => server.close());

describe('listening', () => {
  const stop = { now: new AbortController() };
  const taken: unknown[] = [];
  let ended: Promise<void>;
  beforeEach(async () => {
    stop.now = new AbortController();
    taken.length = 0;
    const take = (body: unknown): void => void taken.push(body);
    ended = keepListening({ open: () => api.openSocket(), take, note, signal: stop.now.signal });
    await until('a socket', () => server.sockets() === 1);
  });
  afterEach(async () => {
    stop.now.abort();
    await ended;
    expect(server.sockets()).toBe(0);
  });

  it('acknowledges each payload once, and gives it', async () => {
    const envelopes = [server.send({ n: 1 }), server.send({ n: 2 })];
    await until('both', () => taken.length === 2 && server.acks.length === 2);
    expect([server.acks, taken]).toEqual([envelopes, [{ n: 1 }, { n: 2 }]]);
  });

  it('connects again when Slack closes the connection, or cannot be reached for a while', async () => {
    server.script('apps.connections.open', 'down', { error: 'internal_error' });
    server.drop();
    await until('the line', () => notes.includes('Slack is listened to again'));
    server.send({ n: 3 });
    await until('it', () => taken.length === 1);
    expect(notes.join()).toMatch(/nobody listens to Slack: Slack could not be reached.*again in 1 s/);
    expect(notes.join()).not.toContain('s3cret');
  });
});

it('does not try a refused app token again and again', async () => {
  const stop = new AbortController();
  const other = await openSlack({ api: server.api, token: BOT_TOKEN, appToken: 'xapp-wrong' });
  const ended = keepListening({
    open: () => other.openSocket(),
    take: () => undefined,
    note,
    signal: stop.signal,
  });
  await until('the line', () => notes.length === 1);
  expect(notes[0]).toMatch(/refused the token: invalid_auth; again in 900 s/);
  stop.abort();
  await ended;
});
