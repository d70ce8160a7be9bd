import { randomUUID } from 'node:crypto';
import {
  connect,
  type Countersign,
  type Session,
  type SessionEvent,
  type SessionTurnEvent,
} from '../../src/client';
import { ModelError, type ModelMessage } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scriptBook, toolTexts } from '../support/script-book';
import { testAddress } from '../support/server';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

beforeAll(async () => {
  const tools = [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  ];
  fixture = await startFixture({
    agents: [
      defineAgent({ name: 'talker', instructions: 'do', model: book.model, tools }),
      defineAgent({
        ...{ name: 'short', instructions: 'do', model: book.model, tools },
        limits: { steps: 10, repeats: 2 },
      }),
    ],
  });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const open = (id = `s-${randomUUID()}`): Session =>
  client.session(id, { agent: 'talker', taskQueue: fixture.taskQueue });

/** Waits until so many turns of a session are over. */
const ended = (session: Session, count: number) =>
  until(`${count} turns`, async () => {
    const view = await session.history();
    return view.turns.filter(({ status }) => status !== 'running').length >= count && view;
  });

const textsOf = (messages: readonly ModelMessage[]): string[] => messages.map(({ content }) => content);

/** A step that waits until it is let go, and says that it is there. */
const gate = () => {
  let release = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    release = resolve;
  });
  let arrived = false;
  return {
    release,
    wait: () => ((arrived = true), opened),
    arrived: () => until('the model', () => arrived),
  };
};

const call = (name: string, tag: string) => ({ toolCalls: [{ name, arguments: { tag } }] });

test('a conversation: each message is a turn, and the model knows what was said and done before', async () => {
  const session = open();
  const seen: string[][] = [];
  const first = book.add(call('look', 'one'), { text: 'first done' });
  const second = book.add(({ messages }) => (seen.push(textsOf(messages)), { text: 'second done' }));
  expect(await session.send(first)).toMatchObject({ status: 'taken', outcome: 'started' });
  await ended(session, 1);
  await session.send({ text: second, sender: 'ann' });
  const view = await ended(session, 2);
  expect(seen).toEqual([[first, '', 'look did one', 'first done', second]]);
  expect(view).toMatchObject({
    session: session.id,
    agent: 'talker',
    state: 'open',
    waiting: [],
    turns: [
      { turn: `${session.id}.t1`, status: 'answered', prompt: first, answer: 'first done' },
      { turn: `${session.id}.t2`, status: 'answered', prompt: second, answer: 'second done' },
    ],
  });
  await session.close();
  await until('the end', async () => (await session.state()).state === 'closed');
  await expect(session.send('more')).rejects.toMatchObject({ code: 'refused' });
});

test('messages sent while a turn runs are queued, in order', async () => {
  const session = open();
  const hold = gate();
  await session.send(book.add(async () => (await hold.wait(), { text: 'one' })));
  await hold.arrived();
  expect(await session.send(book.add({ text: 'two' }))).toMatchObject({ outcome: 'queued' });
  expect(await session.send(book.add({ text: 'three' }))).toMatchObject({ outcome: 'queued' });
  expect(await session.state()).toMatchObject({ state: 'running', waiting: 2, turn: `${session.id}.t1` });
  hold.release();
  expect((await ended(session, 3)).turns.map(({ answer }) => answer)).toEqual(['one', 'two', 'three']);
});

test('a steer reaches the running turn before its next step', async () => {
  const session = open();
  const hold = gate();
  const seen: string[][] = [];
  const prompt = book.add(
    async () => (await hold.wait(), call('look', 'steered')),
    ({ messages }) => (seen.push(textsOf(messages)), { text: 'done' }),
  );
  await session.send(prompt);
  await hold.arrived();
  const steer = { text: 'in blue, please', mode: 'steer' as const, messageId: 'steer-1' };
  expect(await session.send(steer)).toMatchObject({ outcome: 'steering' });
  hold.release();
  const view = await ended(session, 1);
  expect(seen).toEqual([[prompt, '', 'look did steered', 'in blue, please']]);
  expect(view).toMatchObject({ waiting: [], turns: [{ took: ['steer-1'] }] });
  expect((await client.timeline(`${session.id}.t1`)).filter(({ type }) => type === 'thinking')).toMatchObject(
    [{ step: 1 }, { step: 2, words: ['in blue, please'] }],
  );
});

test('a steer that comes while the model writes its answer is still taken up', async () => {
  const session = open();
  const hold = gate();
  const seen: string[][] = [];
  const prompt = book.add(
    async () => (await hold.wait(), { text: 'the answer' }),
    ({ messages }) => (seen.push(textsOf(messages)), { text: 'the better answer' }),
  );
  await session.send(prompt);
  await hold.arrived();
  await session.send({ text: 'shorter', mode: 'steer' });
  hold.release();
  const view = await ended(session, 1);
  expect(seen).toEqual([[prompt, 'the answer', 'shorter']]);
  expect(view).toMatchObject({ waiting: [], turns: [{ answer: 'the better answer' }] });
});

test('an interrupt cancels the turn; the model reads what that had done', async () => {
  const session = open();
  const seen: string[][] = [];
  const first = book.add(call('look', 'before'), call('pay', 'interrupted'), { text: 'never' });
  const second = book.add((request) => {
    seen.push(textsOf(request.messages));
    return { text: toolTexts(request).join(' | ') };
  });
  await session.send(first);
  await until('the request', async () =>
    (await client.inbox({ agent: 'talker', limit: Infinity })).some((item) => item.session === session.id),
  );
  expect(await session.send({ text: second, mode: 'interrupt' })).toMatchObject({ outcome: 'interrupting' });
  const view = await ended(session, 2);
  expect(view.turns).toMatchObject([{ status: 'cancelled' }, { status: 'answered' }]);
  expect(seen[0]).toEqual([
    first,
    '',
    'look did before',
    '',
    expect.stringContaining('cancelled'),
    expect.stringContaining('This turn was cancelled'),
    second,
  ]);
  expect(await effects.lines('pay interrupted')).toEqual([]);
});

test('follow tells messages, turns and what the running turn does, in order', async () => {
  const session = open();
  const hold = gate();
  await session.send(book.add({ text: 'over' }));
  await ended(session, 1);
  await session.send(book.add(async () => (await hold.wait(), call('look', 'followed')), { text: 'done' }));
  await hold.arrived();
  const told: (SessionEvent | SessionTurnEvent)[] = [];
  const reading = (async () => {
    for await (const event of session.follow()) told.push(event);
  })();
  await until('the running turn', () => told.some(({ type }) => type === 'turn_event'));
  hold.release();
  await ended(session, 2);
  await session.send(book.add({ text: 'third' }));
  await ended(session, 3);
  await session.close();
  await reading;
  const lines = told.map((event) =>
    event.type === 'turn_event' ? `${event.turn.slice(-2)} ${event.event.type}` : event.type,
  );
  expect(lines).toEqual([
    ...['session_started', 'message', 'turn_started', 'turn_ended'],
    ...['message', 'turn_started', 't2 turn_started', 't2 thinking', 't2 step'],
    ...['t2 call_started', 't2 call_ended', 't2 thinking', 't2 step', 't2 turn_ended', 'turn_ended'],
    ...[
      'message',
      'turn_started',
      't3 turn_started',
      't3 thinking',
      't3 step',
      't3 turn_ended',
      'turn_ended',
    ],
    ...['control', 'session_ended'],
  ]);
});

test('the same id counts once; with other text it is refused; so is what has no words', async () => {
  const session = open();
  const text = book.add({ text: 'once' });
  await session.send({ text, messageId: 'm1' });
  await ended(session, 1);
  expect(await session.send({ text, messageId: 'm1' })).toMatchObject({ status: 'taken' });
  await expect(session.send({ text: 'other', messageId: 'm1' })).rejects.toMatchObject({
    code: 'exists',
  });
  await expect(session.send(' ')).rejects.toMatchObject({ code: 'usage' });
  await expect(session.send('x'.repeat(1024 * 1024))).rejects.toMatchObject({ code: 'usage' });
  await expect(session.send({ text: 'x', messageId: 'a b' })).rejects.toMatchObject({ code: 'malformed' });
  await expect(client.session(session.id, { agent: 'other' }).send('hello')).rejects.toMatchObject({
    code: 'malformed',
  });
  await expect(client.session(`no-${session.id}`).send('hello')).rejects.toMatchObject({
    code: 'not_found',
  });
  expect((await session.history()).turns).toHaveLength(1);
});

test('a message while it closes is refused, and the running turn ends as it would', async () => {
  const session = open();
  const hold = gate();
  await session.send(book.add(async () => (await hold.wait(), { text: 'the last one' })));
  await hold.arrived();
  await session.close();
  for (const mode of ['queue', 'steer', 'interrupt'] as const)
    await expect(session.send({ text: 'more', mode })).rejects.toMatchObject({ code: 'refused' });
  hold.release();
  await until('the end', async () => (await session.state()).state === 'closed');
  const { turns, messages } = await session.history();
  expect(turns).toMatchObject([{ status: 'answered', answer: 'the last one' }]);
  expect(messages).toHaveLength(1);
});

test('the same id from two people at once with other words: one counts, the other is refused', async () => {
  const session = open();
  await session.send(book.add({ text: 'first' }));
  await ended(session, 1);
  const send = (sender: string) =>
    session.send({ text: book.add({ text: `to ${sender}` }), messageId: 'same', sender });
  const sent = await Promise.allSettled([send('ann'), send('bob')]);
  expect(sent.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const refused = sent.find(({ status }) => status === 'rejected');
  expect(refused).toMatchObject({ reason: { code: 'exists' } });
  const taken = sent[0]?.status === 'fulfilled' ? 'ann' : 'bob';
  const { turns } = await ended(session, 2);
  expect(turns.map(({ answer }) => answer)).toEqual(['first', `to ${taken}`]);
});

const wrongKey = () => Promise.reject(new ModelError('auth', 'no such key', { retryable: false }));

test.each<[string, Parameters<typeof book.add>, object]>([
  ['whose key is wrong', [wrongKey], { status: 'failed', error: expect.stringContaining('no such key') }],
  [
    'that calls tools for ever',
    Array.from({ length: 12 }, (_, n) => call('look', `endless ${n}`)),
    { status: 'step_limit' },
  ],
  [
    'that repeats one call for ever',
    Array.from({ length: 20 }, () => call('look', 'same')),
    { status: 'loop' },
  ],
])('a model %s ends its turn alone: the next message is answered', async (_what, steps, end) => {
  const session = client.session(`s-${randomUUID()}`, { agent: 'short', taskQueue: fixture.taskQueue });
  await session.send(book.add(...steps));
  await ended(session, 1);
  await session.send(book.add({ text: 'here again' }));
  const { turns, state } = await ended(session, 2);
  expect(turns).toMatchObject([end, { status: 'answered', answer: 'here again' }]);
  expect(state).toBe('open');
  await session.close();
});

test('paused it starts no turn; resumed it does', async () => {
  const session = open();
  await session.send(book.add({ text: 'one' }));
  await ended(session, 1);
  await session.pause();
  await session.send(book.add({ text: 'two' }));
  expect(await session.state()).toMatchObject({ state: 'paused', waiting: 1 });
  await session.resume();
  await ended(session, 2);
  await session.pause();
  expect(await session.state()).toMatchObject({ state: 'paused', waiting: 0 });
  await session.resume();
  expect(await session.state()).toMatchObject({ state: 'idle', waiting: 0 });
});

test('the state of a terminated session is not what it wrote last', async () => {
  const session = open();
  await session.send(book.add(call('pay', 'terminated'), { text: 'never' }));
  await until('the request', async () =>
    (await client.inbox({ agent: 'talker', limit: Infinity })).some((item) => item.session === session.id),
  );
  await fixture.client.workflow.getHandle(session.id).terminate();
  const now = await session.state();
  expect(now).toMatchObject({ state: 'closed', turns: 1 });
  expect(now).not.toHaveProperty('turn', expect.anything());
});

test('a turn of the same id that was there before is not taken for the one that runs', async () => {
  const session = open();
  const { turn } = await client.start({
    ...{ agent: 'talker', prompt: book.add({ text: 'other' }), id: `${session.id}.t1` },
    taskQueue: fixture.taskQueue,
  });
  await fixture.client.workflow.getHandle(turn).result();
  await session.send(book.add(call('pay', 'renamed'), { text: 'never' }));
  await until('the request', async () =>
    (await client.inbox({ agent: 'talker', limit: Infinity })).some((item) => item.session === session.id),
  );
  expect(await session.state()).toMatchObject({ state: 'running', turn: `${session.id}.t2` });
  await session.close({ cancel: true });
});

test('cancelling the turn leaves the session open; closing it leaves what waits', async () => {
  const session = open();
  await session.send(book.add(call('pay', 'cancelled'), { text: 'never' }));
  await until('the request', async () =>
    (await client.inbox({ agent: 'talker', limit: Infinity })).some((item) => item.session === session.id),
  );
  await session.cancelTurn();
  await ended(session, 1);
  await session.send(book.add(call('pay', 'closed'), { text: 'never' }));
  await until('the request', async () =>
    (await client.inbox({ agent: 'talker', limit: Infinity })).some(
      (item) => item.turn === `${session.id}.t2`,
    ),
  );
  await session.send({ text: 'never read', messageId: 'left' });
  await session.close({ cancel: true });
  const handle = fixture.client.workflow.getHandle(session.id);
  expect(await handle.result()).toEqual({ status: 'closed', turns: 2, left: ['left'] });
  expect(await session.history()).toMatchObject({
    state: 'closed',
    turns: [{ status: 'cancelled' }, { status: 'cancelled' }],
    waiting: [{ messageId: 'left' }],
  });
});
