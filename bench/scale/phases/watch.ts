import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { connect } from '../../../lib/client';
import { openWebInbox } from '../../figures/web-inbox';
import type { Scale } from '../context';
import type { Values } from '../rows';

const WATCHERS = 5;
const WATCH_MS = 20_000;
const POLL_MS = 200;

const Page = z.object({ complete: z.boolean(), waiting: z.number() });

/** A web inbox that some people watch: until it has read everything, and how often it asks visibility from then on. */
export async function watch({ cluster, waiting, say }: Scale): Promise<Values> {
  const plain = await Connection.connect({ address: cluster.address });
  const asked: number[] = [];
  const connection = counting(plain, () => asked.push(performance.now()));
  const client = await connect({ client: new Client({ connection }) });
  const inbox = await openWebInbox({ address: cluster.address, say }, client);
  const ended = new AbortController();
  const { headers, web } = inbox;
  try {
    const began = performance.now();
    const watchers = Array.from({ length: WATCHERS }, () =>
      fetch(`${web.url}/api/inbox/events`, { headers, signal: ended.signal }),
    );
    await Promise.all(watchers);
    const read = async (): Promise<z.infer<typeof Page>> =>
      Page.parse(await (await fetch(`${web.url}/api/inbox`, { headers })).json());
    let page = await read();
    for (; !page.complete; page = await read()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const whole = (performance.now() - began) / 1000;
    if (page.waiting !== waiting.length)
      throw new Error(`the inbox shows ${page.waiting} requests, and ${waiting.length} wait`);
    const from = performance.now();
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    const calls = asked.filter((at) => at >= from).length;
    return { whole, calls: calls / ((performance.now() - from) / 1000) };
  } finally {
    ended.abort();
    await inbox.close();
    await plain.close();
  }
}

/** The same connection; `count` is called with each question to visibility. */
function counting(connection: Connection, count: () => void): Connection {
  const workflowService = new Proxy(connection.workflowService, {
    get: (service, name) => {
      if (/^(list|count|scan)WorkflowExecutions$/.test(String(name))) count();
      const value: unknown = Reflect.get(service, name);
      return value;
    },
  });
  return new Proxy(connection, {
    get: (target, name) => {
      if (name === 'workflowService') return workflowService;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
