import type { InboxItem } from '../../src/client/types';
import { inboxMetrics, openMetrics } from '../../src/server/monitoring';
import { inboxItem } from '../cli/support';
import { freePorts } from '../../src/engine/server-args';
import { useOfflineApp } from './support';

const NOW = Date.parse('2026-01-02T00:00:00.000Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();

const feedOf = (items: readonly InboxItem[], isComplete = true) => ({
  whole: () => Promise.resolve({ waiting: { items, isComplete, version: 1 }, at: ago(0) }),
});

const samples = async (feed: Parameters<typeof inboxMetrics>[0]): Promise<string[]> => {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(NOW);
  const { status, text } = await inboxMetrics(feed);
  clock.mockRestore();
  expect(status).toBe(200);
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};

it('counts what waits by agent, tool and kind, and how long the oldest waits', async () => {
  const items = [
    inboxItem({ since: ago(60) }),
    inboxItem({ since: ago(5), turn: 't-2' }),
    inboxItem({ since: ago(7), kind: 'in_doubt' }),
    inboxItem({ since: ago(-1), tool: 'refund' }),
  ];
  const pay = 'agent="clerk",tool="pay"';
  expect(await samples(feedOf(items))).toEqual([
    'countersign_inbox_up 1',
    `countersign_waiting{${pay},kind="request"} 2`,
    `countersign_waiting{${pay},kind="in_doubt"} 1`,
    'countersign_waiting{agent="clerk",tool="refund",kind="request"} 1',
    `countersign_waiting_oldest_seconds{${pay},kind="request"} 60`,
    `countersign_waiting_oldest_seconds{${pay},kind="in_doubt"} 7`,
    'countersign_waiting_oldest_seconds{agent="clerk",tool="refund",kind="request"} 0',
  ]);
});

it.each([
  ['only a part could be read', feedOf([inboxItem()], false)],
  ['nothing could be read in time', { whole: () => Promise.resolve(undefined) }],
  ['the server is away', { whole: () => Promise.reject(new Error('gone')) }],
])('says that it does not know where %s', async (_, feed) => {
  expect(await samples(feed)).toEqual(['countersign_inbox_up 0']);
});

it('keeps the number of series bounded, however many names wait', async () => {
  const items = Array.from({ length: 2_000 }, (_, n) => inboxItem({ tool: `tool_${n}` }));
  const counts = (await samples(feedOf(items))).filter((line) => line.startsWith('countersign_waiting{'));
  expect(counts).toHaveLength(501);
  expect(counts.at(-1)).toBe('countersign_waiting{agent="other",tool="other",kind="request"} 1500');
});

it('writes names so that they stay one label', async () => {
  const [, line] = await samples(feedOf([inboxItem({ tool: 'a"b\\c\nd', agent: 'x'.repeat(300) })]));
  expect(line).toBe(`countersign_waiting{agent="${'x'.repeat(100)}",tool="a\\"b\\\\c?d",kind="request"} 1`);
});

it('serves them where Prometheus reads, and nowhere unless asked', async () => {
  expect(await openMetrics(undefined, feedOf([]))).toBeUndefined();
  const [port = 0] = await freePorts(1);
  const open = await openMetrics(String(port), feedOf([]));
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await answer.text()).toContain('\ncountersign_inbox_up 1\n');
  await open?.close();
});

describe('the probes of a web inbox', () => {
  const { app } = useOfflineApp();

  it.each([
    ['/health', 200, 'ok\n'],
    ['/ready', 503, "not ready: Temporal's server does not answer\n"],
  ])('answer %s for any host, without signing in', async (path, status, text) => {
    const answer = await app().ask(path, { headers: { host: '10.0.0.7:7243' }, without: ['origin'] });
    expect([answer.status, await answer.text()]).toEqual([status, text]);
  });
});
