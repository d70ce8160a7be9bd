import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign, type WaitingStep } from '../../src/client';
import { EVERYTHING } from '../../src/authority/rules/permits';
import { CountersignError } from '../../src/contract/errors';
import { NEWS } from '../../src/contract/streamed-text';
import type { ScriptedReply } from '../../src/models/scripted';
import { type RunningWeb, startWeb } from '../../src/server';
import { createUsers } from '../../src/server/auth/users';
import type { InboxPage } from '../../src/server/api';
import { eventsIn } from '../server/support';
import { startFaultProxy } from '../support/fault-proxy';
import { calls, type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { testAddress } from '../support/server';
import { decide, waitFor } from '../support/turns';
import { until } from '../support/until';

const TOKEN = 'the-token-of-the-stream';
/** May see only agents of another name. */
const STRANGER = 'stranger';
const DAY = 86_400_000;

/** What a web inbox sees of visibility once it has read all of it. */
type Visibility = 'as it is' | 'without answers' | 'refusing';

let directory: string;
let starter: Countersign;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-news-'));
  starter = await connect({ address: testAddress() });
  closing.push(() => starter.close());
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await rm(directory, { recursive: true, force: true });
});

/** Starts a turn of worker processes as our client does, so that its agent is known from the start. */
async function start({ taskQueue, client }: Fixture, ...steps: ScriptedReply[]): Promise<TurnHandle> {
  const { turn } = await starter.start({ agent: 'crash', prompt: JSON.stringify(steps), taskQueue });
  return client.workflow.getHandle(turn);
}

/** The client of a web inbox, with visibility as a test wants it. */
async function clientWith(visibility: Visibility, address: string): Promise<Countersign> {
  const client = await connect({ address });
  closing.push(() => client.close());
  const read = client.inboxReader.bind(client);
  const inboxReader = (): ReturnType<Countersign['inboxReader']> => {
    const reader = read();
    let isComplete = false;
    const next = async (): Promise<WaitingStep> => {
      if (isComplete && visibility === 'without answers') return new Promise(() => undefined);
      if (isComplete && visibility === 'refusing')
        throw new CountersignError('server_busy', 'too often', { data: { retryInMs: DAY } });
      const step = await reader.next();
      ({ isComplete } = step);
      return step;
    };
    return { next, read: (turn) => reader.read(turn), forget: (turn) => reader.forget(turn) };
  };
  return Object.assign(client, { inboxReader });
}

interface OpenInbox {
  web: RunningWeb;
  /** The requests of a turn, as somebody sees them. */
  rows(turn: string, who?: string): Promise<InboxPage['rows']>;
  /** Everything that the open page of somebody hears of. */
  heard(who?: string): Promise<{ event: string; data: unknown }[]>;
}

/** A web inbox that somebody looks at, once it has read everything. */
async function openInbox(visibility: Visibility, address = testAddress()): Promise<OpenInbox> {
  const client = await clientWith(visibility, address);
  const usersFile = join(directory, `users-${closing.length}.json`);
  const tokens = new Map<string, string>();
  for (const name of ['owner', STRANGER]) tokens.set(name, await createUsers(usersFile).add(name));
  const web = await startWeb({
    ...{ client, port: 0, pageDir: directory, version: '1', localUser: 'owner', streamToken: TOKEN },
    ...{ usersFile, refusalsFile: join(directory, 'refusals.jsonl') },
    people: async () => ({
      permitOf: (name) => (name === STRANGER ? { role: 'admin', agents: ['another'] } : EVERYTHING),
    }),
    onLink: () => undefined,
    report: (error) => expect(error).toBeUndefined(),
  });
  closing.push(() => web.stop());
  const ask = (path: string, who: string): Promise<Response> =>
    fetch(`${web.url}${path}`, { headers: { authorization: `Bearer ${tokens.get(who)}` } });
  const page = async (query: string, who: string): Promise<InboxPage> =>
    (await ask(`/api/inbox?${query}`, who)).json() as Promise<InboxPage>;
  const heard: OpenInbox['heard'] = async (who = 'owner') => {
    const events = eventsIn(await ask('/api/inbox/events', who));
    const all = [(await events.next()).value].filter((one) => one !== undefined);
    const rest = (async () => {
      for await (const one of events) all.push(one);
    })();
    closing.push(async () => (await web.stop(), await rest));
    return all;
  };
  await until('the whole inbox', async () => (await page('', 'owner')).complete);
  return { web, heard, rows: async (turn, who = 'owner') => (await page(`text=${turn}`, who)).rows };
}

const streamOf = ({ web }: OpenInbox) => ({ url: web.url, token: TOKEN });

/** Sends news as a worker does, with another token where one is given. */
const tell = (inbox: OpenInbox, turns: readonly string[], token = TOKEN): Promise<Response> =>
  fetch(`${inbox.web.url}/api/stream/news`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ namespace: 'default', turns }),
  });

const shown = async ({ rows }: OpenInbox, { workflowId }: TurnHandle): Promise<void> => {
  const [row] = await until('the request in the inbox', async () => {
    const found = await rows(workflowId);
    return found.length > 0 && found;
  });
  expect(row).toMatchObject({ turn: workflowId, callId: '1.1', tool: 'pay', agent: 'crash' });
};

describe.each<Visibility>(['without answers', 'refusing'])('with visibility %s', (visibility) => {
  let inbox: OpenInbox;
  let fixture: Fixture;
  beforeAll(async () => {
    inbox = await openInbox(visibility);
    fixture = await startFixture();
    await fixture.addHere({ stream: streamOf(inbox) });
  });

  test('a request of a worker elsewhere comes into an open inbox, and leaves it with its decision', async () => {
    const events = await inbox.heard();
    const changes = (): number => events.filter(({ event }) => event === 'waiting').length;
    const before = changes();
    const handle = await start(fixture, calls('pay:a'));
    await shown(inbox, handle);
    await until('the event of the request', () => changes() > before);
    await decide(handle, { callId: '1.1', decision: 'denied' });
    await until('its end', async () => (await inbox.rows(handle.workflowId)).length === 0);
    await handle.result();
  });

  test('a request that is withdrawn leaves it too', async () => {
    const handle = await start(fixture, calls('pay:b'));
    await shown(inbox, handle);
    await handle.cancel();
    await until('its end', async () => (await inbox.rows(handle.workflowId)).length === 0);
  });

  test('who may not see its agent sees and hears nothing of it, though its turn was named', async () => {
    const events = await inbox.heard(STRANGER);
    const handle = await start(fixture, calls('pay:c'));
    await shown(inbox, handle);
    expect((await tell(inbox, [handle.workflowId])).status).toBe(204);
    expect(await inbox.rows(handle.workflowId, STRANGER)).toEqual([]);
    for (const { event, data } of events) if (event === 'waiting') expect(data).toMatchObject({ waiting: 0 });
    await handle.terminate();
  });
});

test('without the token nobody is heard', async () => {
  const inbox = await openInbox('refusing');
  const fixture = await startFixture();
  await fixture.addHere();
  const handle = await start(fixture, calls('pay:d'));
  await waitFor(handle, '1.1');
  expect((await tell(inbox, [handle.workflowId], 'another-token-of-the-stream')).status).toBe(401);
  // News of another turn, which is read after it, is the clock.
  const other = await start(fixture, calls('pay:e'));
  await waitFor(other, '1.1');
  await tell(inbox, [other.workflowId]);
  await shown(inbox, other);
  expect(await inbox.rows(handle.workflowId)).toEqual([]);
  await Promise.all([handle.terminate(), other.terminate()]);
});

test('a request of which the news was lost is found by visibility, though other workers are heard', async () => {
  const inbox = await openInbox('as it is');
  const fixture = await startFixture();
  // This worker knows of no web inbox, and another one says that it is there.
  await fixture.addHere();
  await tell(inbox, []);
  const beats = setInterval(() => void tell(inbox, []), 1_000);
  const handle = await start(fixture, calls('pay:f'));
  await shown(inbox, handle);
  clearInterval(beats);
  await handle.terminate();
  await until('its end', async () => (await inbox.rows(handle.workflowId)).length === 0);
});

test('whoever floods it with names costs a bounded number of reads, and shows nothing that is not there', async () => {
  const proxy = await startFaultProxy(testAddress());
  closing.push(() => proxy.stop());
  const inbox = await openInbox('as it is', proxy.address);
  const fixture = await startFixture();
  await fixture.addHere({ stream: streamOf(inbox) });
  const ended = await start(fixture, { text: 'done' });
  await ended.result();
  const reads = (): number =>
    proxy.calls.filter(({ method }) => method === 'DescribeWorkflowExecution').length;
  const [readsBefore, from] = [reads(), performance.now()];
  for (let batch = 0; batch < 50; batch++) {
    const names = Array.from({ length: NEWS.turnsAtOnce - 1 }, (_, n) => `no-such-turn-${batch}-${n}`);
    expect((await tell(inbox, [...names, ended.workflowId])).status).toBe(204);
  }
  const handle = await start(fixture, calls('pay:g'));
  await shown(inbox, handle);
  const seconds = (performance.now() - from) / 1_000;
  // 10,000 names were sent. The pauses are read every two seconds, beside the turns.
  expect(reads() - readsBefore).toBeLessThanOrEqual(40 + 20 * seconds + seconds + 2);
  expect(await inbox.rows('no-such-turn')).toEqual([]);
  expect(await inbox.rows(ended.workflowId)).toEqual([]);
  await handle.terminate();
});
