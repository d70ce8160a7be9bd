import { join } from 'node:path';
import { CountersignError } from '../../src/contract/errors';
import type { Receiver } from '../../src/notify/notices';
import { createOutbox, type NoticeOutbox } from '../../src/notify/outbox';
import { createWebhook } from '../../src/notify/webhook-and-command';
import { openSent } from '../../src/notify/sent';
import { scratchDirectory } from '../support/scratch';
import { usePostServer } from '../cli/receiver';
import { NOW } from '../cli/support';
import { never, notice } from './support';

const directory = scratchDirectory();
const secret = Buffer.from('0123456789abcdef0123456789abcdef');

const server = usePostServer();

describe('the outbox', () => {
  const notes: string[] = [];
  const open = async (): Promise<NoticeOutbox> => {
    notes.length = 0;
    const sent = await openSent(join(directory(), 'sent.json'));
    const receiver = createWebhook(server().url, secret);
    return createOutbox({ receiver, sent, note: (line) => void notes.push(line), signal: never });
  };
  const ids = (): string[] => server().posts.map(({ id }) => id);

  it('sends each once, over a restart too', async () => {
    const first = await open();
    expect(await first.send([notice('a'), notice('b')], NOW)).toBe(0);
    expect(await first.send([notice('a'), notice('b')], NOW)).toBe(0);
    expect(await (await open()).send([notice('b'), notice('c')], NOW)).toBe(0);
    expect(ids()).toEqual(['msg_a', 'msg_b', 'msg_c']);
    expect(notes).toEqual([
      expect.stringMatching(/^sent to 127\.0\.0\.1:\d+: request\.opened t-1\/1\.1 pay$/),
    ]);
  });

  it('tries again, later and later, with the same id, and does not hold up the others', async () => {
    const outbox = await open();
    server().script(500, 204, 503, 204);
    expect(await outbox.send([notice('a'), notice('b')], NOW)).toBe(1);
    expect(await outbox.send([notice('a'), notice('b')], NOW + 999)).toBe(1);
    expect(await outbox.send([notice('a'), notice('b')], NOW + 1000)).toBe(1);
    expect(await outbox.send([notice('a')], NOW + 2999)).toBe(1);
    expect(await outbox.send([notice('a')], NOW + 3000)).toBe(0);
    expect(ids()).toEqual(['msg_a', 'msg_b', 'msg_a', 'msg_a']);
    expect(notes.filter((line) => line.startsWith('could not'))).toEqual([
      expect.stringContaining('it answered 500; again in 1 s'),
      expect.stringContaining('it answered 503; again in 2 s'),
    ]);
  });

  it('does not send what no longer waits', async () => {
    const outbox = await open();
    server().script(500);
    await outbox.send([notice('a')], NOW);
    expect(await outbox.send([], NOW + 60_000)).toBe(0);
    expect(ids()).toEqual(['msg_a']);
  });

  it('forgets the failures of what no longer waits', async () => {
    const outbox = await open();
    server().script(500, 500, 500);
    await outbox.send([notice('a')], NOW);
    await outbox.send([notice('a')], NOW + 1000);
    await outbox.send([], NOW + 3_700_000);
    await outbox.send([notice('a')], NOW + 3_700_000);
    expect(notes.map((line) => /again in \d+ s/.exec(line)?.[0])).toEqual([
      'again in 1 s',
      'again in 2 s',
      'again in 1 s',
    ]);
  });
});

it('goes on where a receiver cannot listen, and changes what it sent', async () => {
  const [notes, changed] = [new Array<string>(), new Array<string>()];
  const act = (): Promise<void> => {
    changed.push('x');
    return changed.length === 1 ? Promise.reject(new Error('busy')) : Promise.resolve();
  };
  const receiver: Receiver = {
    name: 'it',
    deliver: () => Promise.resolve(),
    outdated: (open) => Promise.resolve(open.length > 0 ? [] : [{ key: 'x', about: 'a change', act }]),
    listen: () => Promise.reject(new Error('deaf')),
  };
  const sent = await openSent(join(directory(), 'sent.json'));
  const outbox = createOutbox({ receiver, sent, note: (line) => void notes.push(line), signal: never });
  await outbox.listen?.();
  expect(await outbox.send([notice('a')], NOW)).toBe(0);
  for (const later of [0, 999, 1000]) await outbox.send([], NOW + later);
  expect(changed).toHaveLength(2);
  expect(notes).toEqual([
    'nobody listens to it: deaf',
    expect.stringMatching(/^sent to it/),
    'could not send to it: busy; again in 1 s: a change',
  ]);
});

describe('a channel with several targets', () => {
  const file = (): string => join(directory(), 'sent.json');
  const note = (): void => undefined;
  const failure = (data: object): CountersignError =>
    new CountersignError('failed', 'no', { data: { ...data } });

  /** A receiver whose deliveries to these targets fail with this. */
  const receiver = (refused: Map<string, Error>, delivered: string[]): Receiver => ({
    name: 'them',
    targetsOf: () => Promise.resolve(['ann', 'bob']),
    deliver: ({ id }, _signal, target = '') => {
      delivered.push(`${id} ${target}`);
      const error = refused.get(target);
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    },
  });
  const open = async (one: Receiver, channel = 'ops'): Promise<NoticeOutbox> =>
    createOutbox({ receiver: one, channel, sent: await openSent(file()), note, signal: never });

  it('sends each its own, and again only to whom it failed, over a restart too', async () => {
    const [refused, delivered] = [new Map([['bob', new Error('full')]]), new Array<string>()];
    expect(await (await open(receiver(refused, delivered))).send([notice('a')], NOW)).toBe(1);
    refused.clear();
    expect(await (await open(receiver(refused, delivered))).send([notice('a')], NOW)).toBe(0);
    expect(await (await open(receiver(refused, delivered))).send([notice('a')], NOW)).toBe(0);
    expect(delivered).toEqual(['msg_a ann', 'msg_a bob', 'msg_a bob']);
  });

  it('does not answer for another channel', async () => {
    const delivered: string[] = [];
    await (await open(receiver(new Map(), delivered), 'one')).send([notice('a')], NOW);
    await (await open(receiver(new Map(), delivered), 'two')).send([notice('a')], NOW);
    expect(delivered).toEqual(['msg_a ann', 'msg_a bob', 'msg_a ann', 'msg_a bob']);
  });

  it('leaves a receiver alone for as long as it says, for one notice or for all', async () => {
    const delivered: string[] = [];
    const refused = new Map([['ann', failure({ retryInMs: 90_000 })]]);
    const outbox = await open(receiver(refused, delivered));
    await outbox.send([notice('a')], NOW);
    await outbox.send([notice('a')], NOW + 89_999);
    expect(delivered).toEqual(['msg_a ann', 'msg_a bob']);
    refused.set('ann', failure({ retryInMs: 90_000, holdsAll: true }));
    await outbox.send([notice('a'), notice('b')], NOW + 90_000);
    expect(delivered.slice(2)).toEqual(['msg_a ann']);
    refused.clear();
    expect(await outbox.send([notice('a'), notice('b')], NOW + 180_000)).toBe(0);
  });
});
