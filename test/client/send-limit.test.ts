import { setTimeout as delay } from 'node:timers/promises';
import { SendLimit } from '../../src/client/send-limit';

/** Jobs that note how many ran beside them. */
const jobs = () => {
  const running = new Map<string, number>();
  const most = new Map<string, number>();
  const count = (name: string, by: number): void => {
    const now = (running.get(name) ?? 0) + by;
    running.set(name, now);
    most.set(name, Math.max(most.get(name) ?? 0, now));
  };
  const job = (turn: string) => async (): Promise<string> => {
    for (const name of [turn, 'all']) count(name, 1);
    await delay(5);
    for (const name of [turn, 'all']) count(name, -1);
    return turn;
  };
  return { job, most };
};

it('sends at most 50 messages at once, and 8 to the same turn', async () => {
  const { job, most } = jobs();
  const limit = new SendLimit();
  const turns = [...Array<string>(64).fill('busy'), ...Array.from({ length: 200 }, (_, n) => `turn ${n}`)];
  expect(await Promise.all(turns.map((turn) => limit.run(turn, job(turn))))).toEqual(turns);
  expect(most.get('all')).toBe(50);
  expect(most.get('busy')).toBe(8);
});

it('messages that wait for a busy turn hold up no other turn', async () => {
  const limit = new SendLimit();
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const waiting = Array.from({ length: 100 }, () => limit.run('busy', () => held));
  expect(await limit.run('other', () => Promise.resolve('sent'))).toBe('sent');
  release();
  await Promise.all(waiting);
});

it('a message that fails gives its place to the next', async () => {
  const limit = new SendLimit();
  const sent = Array.from({ length: 100 }, (_, n) =>
    limit.run('busy', () => (n % 2 === 0 ? Promise.reject(new Error('no')) : Promise.resolve(n))),
  );
  const settled = await Promise.allSettled(sent);
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
});
