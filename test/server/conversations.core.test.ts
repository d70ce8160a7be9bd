import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { recordTool } from '../support/effects';
import { until } from '../support/until';
import { eventsIn } from './support';
import { useTestApp } from './test-app';

const AGENT = 'page-talker';
const { book, fixture, client, app, ask } = useTestApp(AGENT, (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);

const place = (): string => `/api/conversations/web-${randomUUID()}`;

/** Says something; the first time this starts the conversation. */
const say = (at: string, text: string, more: object = {}): Promise<Response> =>
  ask(`${at}/messages`, {
    json: { text, messageId: randomUUID(), agent: AGENT, taskQueue: fixture().taskQueue, ...more },
  });

const answers = z.object({
  now: z.looseObject({ state: z.string() }),
  view: z.looseObject({
    state: z.string(),
    turns: z.array(z.looseObject({ turn: z.string(), status: z.string(), answer: z.string().optional() })),
    messages: z.array(z.looseObject({ sender: z.string().optional() })),
  }),
});

const read = async (at: string) => answers.parse(await (await ask(at)).json());

/** Waits until a turn of it runs, or has ended so. */
const turnIs = (at: string, status: string) =>
  until(`a turn that is ${status}`, async () =>
    (await read(at)).view.turns.find((turn) => turn.status === status),
  );

const row = z.looseObject({ session: z.string(), asks: z.number(), state: z.string() });
const rows = z.object({ conversations: z.array(row), older: z.string().nullable() });

/** The conversation as the list has it. */
const listed = (at: string, isThere: (one: z.infer<typeof row>) => boolean) =>
  until('the list to have it', async () =>
    rows
      .parse(await (await ask('/api/conversations?open=1&limit=200')).json())
      .conversations.find((row) => at.endsWith(`/${row.session}`) && isThere(row)),
  );

test('a conversation starts with its first message, is recorded under who is signed in, and is read', async () => {
  const at = place();
  const response = await say(at, book.add({ text: 'the answer' }));
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ status: 'taken', outcome: 'started' });
  expect(await turnIs(at, 'answered')).toMatchObject({ answer: 'the answer' });
  expect((await read(at)).view.messages).toMatchObject([{ sender: 'owner' }]);
});

test('a message that is sent again counts once, and refuses another text', async () => {
  const at = place();
  const [text, messageId] = [book.add({ text: 'once' }), 'web-1'];
  await say(at, text, { messageId });
  expect(await (await say(at, text, { messageId })).json()).toMatchObject({ status: 'taken', messageId });
  const other = await say(at, 'another', { messageId });
  expect(other.status).toBe(409);
  expect(await other.json()).toMatchObject({ code: 'exists' });
  expect((await read(at)).view.messages).toHaveLength(1);
});

test('the list says what waits for a person, the inbox has the same by session, and a turn can be stopped', async () => {
  const at = place();
  await say(at, book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'asked' } }] }));
  await turnIs(at, 'running');
  const { session } = await listed(at, ({ asks }) => asks === 1);
  const inbox = await (await ask(`/api/inbox?session=${session}`)).json();
  expect(inbox).toMatchObject({ matching: 1, rows: [{ tool: 'pay', session }] });
  expect((await ask(`${at}/controls`, { json: { action: 'cancel_turn' } })).status).toBe(204);
  await turnIs(at, 'cancelled');
});

test('the list may be of one agent alone', async () => {
  const at = place();
  await say(at, book.add({ text: 'done' }));
  await listed(at, () => true);
  const list = async (agent: string) =>
    rows.parse(await (await ask(`/api/conversations?limit=200&agent=${agent}`)).json()).conversations;
  expect((await list(AGENT)).some(({ session }) => at.endsWith(`/${session}`))).toBe(true);
  expect(await list('nobody-at-all')).toEqual([]);
});

test.each([
  ['pause', 'paused'],
  ['resume', 'open'],
  ['close', 'closed'],
])('%s', async (action, state) => {
  const at = place();
  await say(at, book.add({ text: 'done' }));
  await turnIs(at, 'answered');
  if (action === 'resume') await ask(`${at}/controls`, { json: { action: 'pause' } });
  expect((await ask(`${at}/controls`, { json: { action } })).status).toBe(204);
  await until(state, async () => (await read(at)).view.state === state);
});

test('the stream begins with all that was said, then says what the model writes, and ends with the conversation', async () => {
  const at = place();
  await say(at, book.add({ text: 'first' }));
  await turnIs(at, 'answered');
  const seen: string[] = [];
  let asked = '';
  for await (const { event, data } of eventsIn(await ask(`${at}/events`))) {
    const named = z.looseObject({ type: z.string().optional(), turn: z.string().optional() }).parse(data);
    seen.push(named.type ?? event);
    if (event === 'live')
      await say(at, book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'live' } }] }));
    if (event === 'turn' && asked === '') {
      asked = named.turn ?? '';
      const about = { namespace: 'default', turn: asked, runId: 'r', step: 9, attempt: 1 };
      await app().texts.take([
        { ...about, scheduledAt: Date.now() + 60_000, revision: 0, at: 0, text: 'I w' },
      ]);
    }
    if (event === 'text') {
      expect(data).toMatchObject({ turn: asked, delta: { text: 'I w' } });
      await ask(`${at}/controls`, { json: { action: 'close', cancel: true } });
    }
  }
  const live = seen.indexOf('live');
  expect(seen.slice(0, live)).toEqual([
    ...['start', 'session_started', 'message', 'turn_started', 'turn_ended'],
  ]);
  expect(seen.slice(live)).toEqual(expect.arrayContaining(['message', 'turn_event', 'text', 'control']));
  expect(seen.slice(-2)).toEqual(['session_ended', 'end']);
});

test('there is no conversation of another id, nor of a turn', async () => {
  for (const session of [randomUUID(), (await client().turns({ agent: AGENT })).turns[0]?.turn ?? 'none']) {
    const response = await ask(`/api/conversations/${session}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found' });
    const said: unknown[] = [];
    for await (const event of eventsIn(await ask(`/api/conversations/${session}/events`))) said.push(event);
    expect(said).toMatchObject([{ event: 'trouble', data: { code: 'not_found' } }]);
  }
});
