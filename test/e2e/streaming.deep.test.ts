import { createServer, type Server, type ServerResponse } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign, type TextDelta, type TurnEvent } from '../../src/client';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { scriptedModel } from '../../src/models/scripted';
import { type RunningWeb, startWeb } from '../../src/server';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { delta, type FakeServer, recorded, startServer, wireCall } from '../models/openai/server';
import { type Fixture, startFixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const TOKEN = 'the-token-of-the-stream';
const SECRET = 'sesame-open-sesame';

let model: FakeServer;
let web: RunningWeb;
let directory: string;
/** Has the token, and one that reads heartbeats. */
let client: Countersign;
let plain: Countersign;
/** Replies that are being written, in the order of the requests. */
let replies: ServerResponse[];

const lookUp = defineTool({
  name: 'look_up',
  description: 'Uses a secret.',
  parameters: { type: 'object', properties: {} },
  handler: async (_args, { secrets }) => `${(await secrets.get('door')).length} letters`,
});

const writer = (baseUrl: string) =>
  defineAgent({
    ...{ name: 'writer', instructions: 'write', tools: [lookUp] },
    model: openaiCompatible({ baseUrl, model: 'm', id: 'test/m' }),
  });

beforeAll(async () => {
  model = await startServer();
  directory = await mkdtemp(join(tmpdir(), 'countersign-stream-'));
  plain = await connect({ address: testAddress() });
  web = await startWeb({
    ...{ client: plain, port: 0, pageDir: directory, version: '1', localUser: 'owner', streamToken: TOKEN },
    usersFile: join(directory, 'users.json'),
    refusalsFile: join(directory, 'refusals.jsonl'),
    onLink: () => undefined,
    report: (error) => expect(error).toBeUndefined(),
  });
  client = await connect({ address: testAddress(), stream: { url: web.url, token: TOKEN } });
});
afterAll(async () => {
  await client.close();
  await web.stop();
  await plain.close();
  await model.close();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(() => {
  replies = [];
  model.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    replies.push(response);
  };
});

const place = () => ({ url: web.url, token: TOKEN });

/** A worker that streams there, or nowhere. */
const workerWith = (stream?: { url: string; token: string }): Promise<Fixture> =>
  startFixture({
    agents: [writer(model.baseUrl)],
    secrets: () => SECRET,
    worker: stream === undefined ? {} : { stream },
  });

const reply = (index: number): Promise<ServerResponse> =>
  until(`request ${index + 1} of the model`, () => replies[index]);
const write = (response: ServerResponse, ...words: string[]): void => {
  for (const word of words) response.write(recorded([delta({ content: word })], false));
};
const finish = (response: ServerResponse, end = 'stop'): void =>
  void response.end(recorded([delta({}, end)]));

/** Follows a turn with its text; `text` is that of the attempt that writes now. */
function follow(by: Countersign, turn: string) {
  const seen: (TurnEvent | TextDelta)[] = [];
  let text = '';
  const ended = (async () => {
    for await (const event of by.followWithText(turn)) {
      seen.push(event);
      if (event.type === 'text') text = text.slice(0, event.at) + event.text;
    }
  })();
  ended.catch(() => undefined);
  const deltas = () => seen.filter((event) => event.type === 'text');
  const kinds = () => seen.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
  return { ended, deltas, kinds, text: () => text };
}

const start = (fixture: Fixture): Promise<{ turn: string }> =>
  client.start({ agent: 'writer', prompt: 'go', taskQueue: fixture.taskQueue });

test('words come as they are written, all of them to a late watcher, and the last text is the answer', async () => {
  const fixture = await workerWith(place());
  const { turn } = await start(fixture);
  const early = follow(client, turn);
  const response = await reply(0);
  write(response, 'one ');
  await until('the first word', () => early.text() === 'one ');
  write(response, 'two ', '😀');
  await until('the next words', () => early.text() === 'one two 😀');
  const late = follow(client, turn);
  await until('all of it', () => late.text() === 'one two 😀');
  write(response, ' three');
  await until('the last word', () => early.text() === 'one two 😀 three' && late.text() === early.text());
  finish(response);
  await Promise.all([early.ended, late.ended]);
  for (const one of [early, late])
    expect(one.kinds()).toEqual(['turn_started', 'thinking', 'text', 'step', 'turn_ended']);
  expect((await client.view(turn)).answer).toBe('one two 😀 three');
  expect(late.deltas()[0]).toMatchObject({ step: 1, attempt: 1, at: 0, text: 'one two 😀' });
  await fixture.stop();
});

test('who stops reading is let go at once', async () => {
  const fixture = await workerWith(place());
  const { turn } = await start(fixture);
  const response = await reply(0);
  write(response, 'one');
  const seen: string[] = [];
  for await (const { type } of client.followWithText(turn)) {
    seen.push(type);
    if (type === 'text') break;
  }
  expect(seen).toEqual(['turn_started', 'thinking', 'text']);
  const gone = new AbortController();
  for await (const { type } of client.followWithText(turn, { signal: gone.signal }))
    if (type === 'text') gone.abort();
  finish(response);
  await fixture.stop();
});

test('a reply that breaks off is written anew by the next attempt', async () => {
  const fixture = await workerWith(place());
  const { turn } = await start(fixture);
  const watcher = follow(client, turn);
  const first = await reply(0);
  write(first, 'one two');
  await until('the first words', () => watcher.text() === 'one two');
  first.destroy();
  const second = await reply(1);
  write(second, 'other');
  await until('the other words', () => watcher.text() === 'other');
  finish(second);
  await watcher.ended;
  expect(watcher.deltas().find(({ at, attempt }) => at === 0 && attempt === 2)).toBeDefined();
  expect((await client.view(turn)).answer).toBe('other');
  await fixture.stop();
});

test('a secret that is split over two deltas is in no text and not in history', async () => {
  const fixture = await workerWith(place());
  const { turn } = await start(fixture);
  const watcher = follow(client, turn);
  const first = await reply(0);
  const call = { index: 0, ...wireCall('c', 'look_up', '{}') };
  first.end(recorded([delta({ tool_calls: [call] }), delta({}, 'tool_calls')]));
  const second = await reply(1);
  write(second, `it is ${SECRET.slice(0, 9)}`);
  await until('the head', () => watcher.text() === 'it is ');
  write(second, `${SECRET.slice(9)}, indeed`);
  await until('the rest', () => watcher.text().endsWith('indeed'));
  finish(second);
  await watcher.ended;
  expect(watcher.text()).toBe('it is [redacted], indeed');
  expect(watcher.deltas().every(({ step }) => step === 2)).toBe(true);
  expect((await client.view(turn)).answer).toBe('it is [redacted], indeed');
  expect(JSON.stringify(await client.timeline(turn))).not.toContain('sesame');
  await fixture.stop();
});

describe('a web inbox that', () => {
  let server: Server;
  let held: ServerResponse[];
  const listening = async (answer: (response: ServerResponse) => void): Promise<string> => {
    held = [];
    server = createServer((_request, response) => answer(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['is not there', (response) => response.destroy()],
    ['never answers', (response) => held.push(response)],
    ['refuses the token', (response) => response.writeHead(401).end('{}')],
    ['answers something else', (response) => response.end('<html>')],
    ['redirects', (response) => response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()],
  ])('%s holds up no turn', async (_case, answer) => {
    const fixture = await workerWith({ url: await listening(answer), token: TOKEN });
    const { turn } = await start(fixture);
    const response = await reply(0);
    for (let word = 0; word < 500; word++) write(response, `${word} `);
    finish(response);
    const { answer: said } = await until('the end', async () => {
      const view = await client.view(turn);
      return view.endedAt !== null && view;
    });
    expect(said).toContain('498 499 ');
    await fixture.stop();
  });
});

test('without a web inbox the heartbeat has the head of the text', async () => {
  const fixture = await workerWith();
  const { turn } = await start(fixture);
  const watcher = follow(plain, turn);
  const response = await reply(0);
  write(response, 'one ', 'two ');
  await until('the head', () => watcher.text() === 'one two ');
  const { activities } = await plain.pendingActivities(turn);
  expect(activities).toMatchObject([{ what: 'think', text: 'one two ' }]);
  write(response, 'x'.repeat(10_000));
  await until('more of it', () => watcher.text().length === 4_000);
  finish(response);
  await watcher.ended;
  expect(watcher.kinds()).toEqual(['turn_started', 'thinking', 'text', 'step', 'turn_ended']);
  await fixture.stop();
});

test('two workers that write six replies at once: each watcher reads its own', async () => {
  const text = (turn: number): string => Array.from({ length: 60 }, (_, word) => `${turn}-${word}`).join(' ');
  const fixture = await startFixture({
    agents: [
      defineAgent({
        ...{ name: 'writer', instructions: 'write', tools: [] },
        model: scriptedModel([({ messages }) => ({ text: text(Number(messages[0]?.content)) })], {
          wordMs: 10,
        }),
      }),
    ],
    ...{ workers: 2, worker: { stream: place() } },
  });
  const turns = [1, 2, 3, 4, 5, 6];
  const watchers = await Promise.all(
    turns.map(async (prompt) => {
      const request = { agent: 'writer', prompt: String(prompt), taskQueue: fixture.taskQueue };
      return follow(client, (await client.start(request)).turn);
    }),
  );
  await Promise.all(watchers.map(({ ended }) => ended));
  for (const [index, watcher] of watchers.entries()) {
    expect(watcher.deltas().length).toBeGreaterThan(1);
    expect(text(index + 1).startsWith(watcher.text())).toBe(true);
  }
  await fixture.stop();
});

test('a worker that is killed while its model writes: the text stays, and begins anew at another worker', async () => {
  const text = Array.from({ length: 40 }, (_, word) => `word${word}`).join(' ');
  const fixture = await startFixture();
  const first = await fixture.addProcess({ stream: place(), wordMs: 200 });
  const { turn } = await client.start({
    ...{ agent: 'crash', prompt: JSON.stringify([{ text }]), taskQueue: fixture.taskQueue },
  });
  const watcher = follow(client, turn);
  await until('some words', () => watcher.text().includes('word3'));
  await first.kill();
  const late = follow(client, turn);
  await until('what it wrote', () => late.text().includes('word3'));
  await fixture.addProcess({ stream: place(), wordMs: 5 });
  await Promise.all([watcher.ended, late.ended]);
  const { answer, steps } = await client.view(turn);
  expect(answer).toBe(text);
  expect(steps[0]?.attempts).toBe(2);
  const again = watcher.deltas().filter(({ attempt }) => attempt === 2);
  expect(again[0]).toMatchObject({ at: 0 });
  expect(text.startsWith(watcher.text())).toBe(true);
});
