import type { Pending } from '../../src/client';
import { CountersignError } from '../../src/contract/errors';
import type { ServerEvent } from '../../src/server/events';
import { turnEvents } from '../../src/server/turn-events';
import type { TurnEvent } from '../../src/history/events';

const IDLE: Pending = { activities: [], idleQueues: [] };

const thinking = (step: number): TurnEvent => ({ type: 'thinking', eventId: step, at: '', step });

/** A turn with these events; it ends after them, or waits. */
const deskOf = (events: TurnEvent[], { ends = true, pending = async () => IDLE } = {}) => ({
  follow: async function* (_turn: string, { signal }: { signal?: AbortSignal } = {}) {
    yield* events;
    if (!ends) await new Promise((resolve) => signal?.addEventListener('abort', resolve));
  },
  pendingActivities: pending,
});

const collect = async (events: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> => {
  const told: ServerEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
};

const never = new AbortController().signal;

it('tells each event with its place, what runs right now, and the end', async () => {
  const told = await collect(turnEvents(deskOf([thinking(1), thinking(2)]), 't', never));
  expect(told.filter(({ event }) => event === 'turn')).toEqual([
    { event: 'turn', id: 0, data: thinking(1) },
    { event: 'turn', id: 1, data: thinking(2) },
  ]);
  expect(told.filter(({ event }) => event === 'pending')).toEqual([{ event: 'pending', data: IDLE }]);
  expect(told.at(-1)).toEqual({ event: 'end', data: {} });
});

it('ends without an end where the reader goes', async () => {
  const gone = new AbortController();
  const told: string[] = [];
  for await (const { event } of turnEvents(deskOf([thinking(1)], { ends: false }), 't', gone.signal)) {
    told.push(event);
    if (told.length === 2) gone.abort();
  }
  expect(told.sort()).toEqual(['pending', 'turn']);
});

it('stops asking what runs once the turn has ended', async () => {
  const asked: number[] = [];
  const pending = async (): Promise<Pending> => {
    asked.push(1);
    return IDLE;
  };
  await collect(turnEvents(deskOf([thinking(1)], { pending }), 't', never));
  const before = asked.length;
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toHaveLength(before);
});

it('throws what goes wrong, for whoever streams it to tell', async () => {
  const failed = new CountersignError('no_server', 'gone');
  const desk = deskOf([thinking(1)], { ends: false, pending: () => Promise.reject(failed) });
  await expect(collect(turnEvents(desk, 't', never))).rejects.toBe(failed);
});
