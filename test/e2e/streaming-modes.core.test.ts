import type { ServerResponse } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign, type TextDelta } from '../../src/client';
import { openaiCompatible } from '../../src/models/openai-compatible';
import { type RunningWeb, startWeb } from '../../src/server';
import { type AgentOptions, defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { delta, type FakeServer, recorded, startServer, wireCall } from '../models/openai/server';
import { type Fixture, startFixture } from '../support/fixture';
import { operator } from '../support/operator';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const TOKEN = 'the-token-of-the-stream';

const MODES: [string, Pick<AgentOptions, 'durability' | 'commitEvery'>][] = [
  ['step', {}],
  ['gate', { durability: 'gate', commitEvery: '1m' }],
];

let model: FakeServer;
let web: RunningWeb;
let directory: string;
let streaming: Fixture;
let beating: Fixture;
/** Has the token, and one that reads heartbeats. */
let client: Countersign;
let plain: Countersign;
/** Replies that are being written, in the order of the requests. */
let replies: ServerResponse[];

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
  handler: () => 'seen',
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
  const place = { url: web.url, token: TOKEN };
  client = await connect({ address: testAddress(), stream: place });
  const agents = MODES.map(([name, mode]) =>
    defineAgent({
      ...{ name, instructions: 'write', tools: [look], ...mode },
      model: openaiCompatible({ baseUrl: model.baseUrl, model: 'm', id: 'test/m' }),
    }),
  );
  streaming = await startFixture({ agents, worker: { stream: place } });
  beating = await startFixture({ agents });
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

const reply = (index: number): Promise<ServerResponse> =>
  until(`request ${index + 1} of the model`, () => replies[index]);
const write = (response: ServerResponse, words: string): void =>
  void response.write(recorded([delta({ content: words })], false));
const finish = (response: ServerResponse): void => void response.end(recorded([delta({}, 'stop')]));
/** Ends a reply with a call of a pure tool. */
const callLook = (response: ServerResponse): void => {
  const call = { index: 0, ...wireCall('c', 'look', '{}') };
  response.end(recorded([delta({ tool_calls: [call] }), delta({}, 'tool_calls')]));
};

function follow(by: Countersign, turn: string) {
  const deltas: TextDelta[] = [];
  const kinds: string[] = [];
  let text = '';
  const ended = (async () => {
    for await (const event of by.followWithText(turn)) {
      kinds.push(event.type);
      if (event.type !== 'text') continue;
      deltas.push(event);
      text = text.slice(0, event.at) + event.text;
    }
  })();
  ended.catch(() => undefined);
  return { ended, deltas, kinds, last: () => deltas.at(-1), text: () => text };
}

/** A turn of which the model writes the third step, as its watcher reads it. */
async function inThirdStep({ agent, on, by }: { agent: string; on: Fixture; by: Countersign }) {
  const { turn } = await by.start({ agent, prompt: 'go', taskQueue: on.taskQueue });
  const watcher = follow(by, turn);
  for (const step of [1, 2]) {
    const response = await reply(step - 1);
    write(response, `look ${step}`);
    await until(`the words of step ${step}`, () => watcher.text() === `look ${step}`);
    callLook(response);
  }
  const response = await reply(2);
  write(response, 'one ');
  await until('the words of step 3', () => watcher.text() === 'one ');
  return { turn, watcher, response };
}

describe.each(MODES)('durability %s', (agent, { durability }) => {
  test.each<[string, () => { on: Fixture; by: Countersign }]>([
    ['the web inbox', () => ({ on: streaming, by: client })],
    ['heartbeats', () => ({ on: beating, by: plain })],
  ])('the words of every step come by %s while they are written', async (_, where) => {
    const { on, by } = where();
    const { turn, watcher, response } = await inThirdStep({ agent, on, by });
    const late = follow(by, turn);
    await until('all of it', () => late.text() === 'one ');
    write(response, 'two');
    await until('the rest', () => watcher.text() === 'one two' && late.text() === watcher.text());
    expect(watcher.last()).toMatchObject({ step: 3, attempt: 1 });
    finish(response);
    await Promise.all([watcher.ended, late.ended]);
    expect((await by.view(turn)).answer).toBe('one two');
    expect(watcher.kinds.filter((kind) => kind === 'step')).toHaveLength(3);
  });

  test('a turn that is cancelled while its model writes lets the model go', async () => {
    const { turn, watcher, response } = await inThirdStep({ agent, on: streaming, by: client });
    const closed = new Promise((resolve) => response.once('close', resolve));
    await client.cancel(turn);
    await Promise.all([closed, watcher.ended]);
    const { status, steps } = await client.view(turn);
    expect(status).toBe('cancelled');
    // A turn does not wait for its first activity, so the steps of a first burst that still runs are lost.
    const kept = durability === 'gate' ? [0, 2] : [2];
    expect(kept).toContain(steps.filter(({ text }) => text !== '').length);
  });

  test('a pause while the model writes lets it go; after it the words come anew', async () => {
    const { turn, watcher, response } = await inThirdStep({ agent, on: streaming, by: client });
    const closed = new Promise((resolve) => response.once('close', resolve));
    const handle = streaming.client.workflow.getHandle(turn);
    const { raw } = await handle.describe();
    const activity = raw.pendingActivities?.[0]?.activityId ?? '';
    // The first burst ends after a second, so the third step may be in the first burst or in a later one.
    expect(activity).toMatch(durability === 'gate' ? /^(think-1|burst-[23])$/ : /^think-3$/);
    await operator(handle, 'activity', 'pause', '--activity-id', activity);
    await closed;
    await until('its attempt to end', async () => {
      const [one] = (await client.pendingActivities(turn)).activities;
      return one?.state === 'paused' && one.lastFailure !== undefined;
    });
    await operator(handle, 'activity', 'unpause', '--activity-id', activity);
    const again = await reply(3);
    write(again, 'other');
    await until('the other words', () => watcher.text() === 'other');
    expect(watcher.last()).toMatchObject({ attempt: 2, step: Number(activity.split('-')[1]) });
    finish(again);
    await watcher.ended;
    expect((await client.view(turn)).answer).toBe('other');
  });
});
