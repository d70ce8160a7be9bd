import type { ConnectionLike } from '@temporalio/client';
import { warnOfOtherWorkers } from '../src/worker';

const OWN = '1@here#00000000';
const starting = { queue: 'orders', identity: OWN, isMain: true };

/** A server on whose queues these workers poll, by queue. */
function serverWith(pollers: Record<string, string[]>): { connection: ConnectionLike; asked: unknown[] } {
  const asked: unknown[] = [];
  const workflowService = {
    describeTaskQueue: async (request: { taskQueue: { name: string } }) => {
      asked.push(request);
      const names = pollers[request.taskQueue.name];
      if (names === undefined) throw new Error('the server is "busy"\u001b[2J');
      const lastAccessTime = { seconds: Math.floor(Date.now() / 1000) };
      return { pollers: names.map((identity) => ({ identity, lastAccessTime })) };
    },
    listWorkers: async () => ({ workersInfo: [] }),
  };
  const withDeadline = (_until: number, ask: () => Promise<unknown>) => ask();
  return { connection: Object.assign(Object.create(null), { workflowService, withDeadline }), asked };
}

async function warnings(pollers: Record<string, string[]>, workers = [starting]): Promise<string[]> {
  const lines: string[] = [];
  const { connection } = serverWith(pollers);
  await warnOfOtherWorkers(workers, { connection, namespace: 'default', warn: (line) => lines.push(line) });
  return lines;
}

const strangers = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${n + 2}@there#1111111${n}`);

it.each<[string, string[]]>([
  ['a queue without workers', []],
  ['workers with the same agents and tools', ['2@there#00000000', '3@there#00000000']],
])('says nothing of %s', async (_, there) => {
  expect(await warnings({ orders: there })).toEqual([]);
});

it.each<[string, string[], string]>([
  ['one worker with others', strangers(1), '"2@there#11111110". That is fine'],
  ['a worker that is not ours', ['somebody'], '"somebody". That is fine'],
  ['three workers', strangers(3), '"4@there#11111112". That is fine'],
  ['five workers, of which it names three', strangers(5), '"4@there#11111112" and 2 more. That is fine'],
  ['a name that would clear the screen', ['\u001b[2J'], '"\\u001b[2J". That is fine'],
])('warns of %s', async (_, there, words) => {
  const [line, ...more] = await warnings({ orders: [OWN, ...there] });
  expect(line).toMatch(/^queue "orders" has workers with other agents or tools: /);
  expect(line).toContain(words);
  expect(more).toEqual([]);
});

it('asks about turns for the main worker, and about activities for one of a tool queue', async () => {
  const { connection, asked } = serverWith({ orders: [], files: [] });
  const workers = [starting, { ...starting, queue: 'files', isMain: false }];
  await warnOfOtherWorkers(workers, { connection, namespace: 'shop', warn: () => undefined });
  expect(asked).toMatchObject([
    { namespace: 'shop', taskQueue: { name: 'orders' }, taskQueueType: 1 },
    { namespace: 'shop', taskQueue: { name: 'files' }, taskQueueType: 2 },
  ]);
});

it('says that a queue cannot be looked at, still warns of the others, and throws nothing', async () => {
  const workers = [{ ...starting, queue: 'gone' }, starting];
  expect(await warnings({ orders: strangers(1) }, workers)).toEqual([
    expect.stringMatching(/^the other workers of queue "gone" could not be listed: .*busy.*\\u001b/),
    expect.stringMatching(/^queue "orders" has workers/),
  ]);
});
