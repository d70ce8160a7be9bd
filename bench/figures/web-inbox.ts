import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign } from '../../lib/client';
import { startWeb, type RunningWeb } from '../../lib/server';
import { createUsers } from '../../lib/server/auth/users';
import { absolute, alternate, median, type Bench, type Measurement } from '../figure';
import { freshId, OUR_QUEUE, startBaseline, startOurs } from '../subjects';
import { rawSignal, requestOf, untilStarted } from './decision';

const REQUESTS = 100;
const ROUNDS = 40;

/** The web inbox as its page sees it: a request until it is visible, and a click until the tool runs. */
export const webInbox: Measurement = {
  name: 'web-inbox',
  isAlone: true,
  async run(bench) {
    const place = await openWebInbox(bench);
    const bundle = join(__dirname, '..', '..', 'lib', 'workflow-bundle.js');
    const stream = { url: place.web.url, token: STREAM_TOKEN };
    const workers = [await startOurs(bench.address, bundle, { stream }), await startBaseline(bench.address)];
    try {
      const delays = await visibleAfter(bench, place);
      const [raw, clicked] = await alternate(ROUNDS, rawSignal(bench), () => click(bench, place));
      return [
        absolute('request made → visible in an open inbox, 99 of 100', delays.at(-2) ?? NaN, {
          ...{ most: 1000, unit: 'ms' },
        }),
        absolute('click → tool running, over a raw signal', median(clicked) - median(raw), {
          ...{ most: 50, unit: 'ms' },
        }),
      ];
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
      await place.close();
    }
  },
};

/** What the worker proves to the web inbox. */
const STREAM_TOKEN = 'the-token-of-the-bench';

interface WebInbox {
  client: Countersign;
  web: RunningWeb;
  headers: Record<string, string>;
  close(): Promise<void>;
}

/** A web inbox on the server of the bench, and the headers of somebody who is signed in. `given`: it asks through this client. */
export async function openWebInbox(
  { address, say }: Pick<Bench, 'address' | 'say'>,
  given?: Countersign,
): Promise<WebInbox> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-inbox-'));
  const client = given ?? (await connect({ address }));
  const usersFile = join(directory, 'users.json');
  const token = await createUsers(usersFile).add('bench');
  const web = await startWeb({
    ...{ client, port: 0, usersFile, localUser: 'bench', pageDir: directory, version: '0' },
    refusalsFile: join(directory, 'refusals.jsonl'),
    streamToken: STREAM_TOKEN,
    onLink: () => undefined,
    report: (error) => say(String(error)),
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const close = async (): Promise<void> => {
    await web.stop();
    await client.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { client, web, headers, close };
}

/** Milliseconds from each request until the page has it: it hears of a change, and asks for what it shows. Sorted. */
async function visibleAfter(bench: Bench, { client, web, headers }: WebInbox): Promise<number[]> {
  const awaited = new Map<string, (at: number) => void>();
  const { body } = await fetch(`${web.url}/api/inbox/events`, { headers });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const watching = (async () => {
    for (;;) {
      const { value } = (await reader?.read()) ?? {};
      if (value === undefined) return;
      if (!value.includes('event: waiting')) continue;
      const text = await (await fetch(`${web.url}/api/inbox?sort=newest`, { headers })).text();
      for (const [turn, found] of awaited) if (text.includes(turn)) found(performance.now());
    }
  })();
  const delays: number[] = [];
  for (let count = 0; count < REQUESTS; count++) {
    const turn = freshId('inbox');
    const visible = new Promise<number>((resolve) => awaited.set(turn, resolve));
    await client.start({ agent: 'waiting', prompt: turn, taskQueue: OUR_QUEUE, id: turn });
    await requestOf(bench, turn);
    const made = performance.now();
    delays.push(Math.max(0, (await visible) - made));
    awaited.delete(turn);
    await client.cancel(turn);
  }
  await reader?.cancel();
  await watching;
  return delays.sort((a, b) => a - b);
}

/** Milliseconds from a decision that the page sends to the tool running. */
async function click(bench: Bench, { client, web, headers }: WebInbox): Promise<number> {
  const key = freshId('click');
  const { turn } = await client.start({ agent: 'waiting', prompt: key, taskQueue: OUR_QUEUE });
  await requestOf(bench, turn);
  const [request] = (await client.view(turn)).requests;
  const { callId, seenDigest, callKey } = request ?? {};
  const body = JSON.stringify({ callId, seenDigest, callKey, decision: 'approved' });
  return untilStarted(key, () =>
    fetch(`${web.url}/api/turns/${turn}/decisions`, { method: 'POST', headers, body }),
  );
}
