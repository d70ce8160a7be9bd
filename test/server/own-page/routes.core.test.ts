import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EventSchemas } from '@ag-ui/core/schemas';
import { z } from 'zod';
import type { Countersign } from '../../../src/client';
import { EVERYTHING, type Permit } from '../../../src/authority/rules/permits';
import { askUser } from '../../../src/tools/builtin/ask-user';
import { agentTool } from '../../../src/tools/builtin/agent-tool';
import { type Agent, defineAgent } from '../../../src/tools/define-agent';
import { useAgent } from '../../support/agent-fixture';
import { type Effects, recordTool } from '../../support/effects';
import { type Fixture, startFixture } from '../../support/fixture';
import { scriptBook } from '../../support/script-book';
import { until } from '../../support/until';
import { createTestApp, HOST, type TestApp } from '../support';

const AGENT = 'own-page';
const book2 = scriptBook();
const child = (written: Effects): Agent =>
  defineAgent({
    ...{ name: 'own-page-child', instructions: 'give', model: book2.model },
    tools: [recordTool(written, { name: 'give', safety: 'dangerous' })],
  });
const { book, fixture, client, effects } = useAgent(AGENT, (written) => [
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
  askUser(),
  agentTool(child(written), { name: 'hand_over' }),
]);

const SHOP = 'https://shop.example.com';
const PERMITS: Readonly<Record<string, Permit>> = {
  vera: { role: 'viewer', agents: 'all' },
  hid: { role: 'admin', agents: ['another'] },
};
let app: TestApp & { remove(): Promise<void> };
const tokens = new Map<string, string>();
/** What began to read histories. */
const readers: string[] = [];
const READS = ['timeline', 'view', 'follow'];

/** The client, with each reader of a history noted. */
const counted = (inner: Countersign): Countersign =>
  new Proxy(inner, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (READS.some((one) => one === name)) readers.push(String(name));
      if (name !== 'session') return typeof member === 'function' ? member.bind(target) : member;
      return (...given: Parameters<Countersign['session']>) => {
        const session = target.session(...given);
        const follow: typeof session.follow = (how) => {
          readers.push('session');
          return session.follow(how);
        };
        return { ...session, follow };
      };
    },
  });

const openApp = () =>
  createTestApp(counted(client()), {
    people: async () => ({ permitOf: (name) => PERMITS[name] ?? EVERYTHING }),
    ownPage: { allowOrigins: [SHOP], holdMs: 400 },
  });

beforeAll(async () => {
  app = await openApp();
  for (const name of ['ann', 'ben', 'vera', 'hid'])
    tokens.set(name, await app.users.add(name, name === 'ben' ? [] : ['converse']));
});
afterAll(async () => {
  app.close();
  await app.remove();
});

const event = z.looseObject({ type: z.string() });
type Event = z.infer<typeof event>;

interface Post {
  as?: string;
  headers?: Record<string, string>;
  queue?: string;
}

const post = (
  path: string,
  json: object,
  { as = 'ann', headers = {}, queue = fixture().taskQueue }: Post = {},
): Promise<Response> =>
  app.ask(`${path}?taskQueue=${queue}`, {
    json,
    headers: { authorization: `Bearer ${tokens.get(as)}`, ...headers },
    without: ['origin', 'sec-fetch-site'],
  });

const eventsIn = async (response: Response): Promise<Event[]> => {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return eventsOf(await response.text());
};

const eventsOf = (text: string): Event[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => event.parse(JSON.parse(line.slice(6))));

const user = (content: string) => ({ id: randomUUID(), role: 'user', content });
const newThread = (): string => `own-${randomUUID()}`;

interface Run extends Post {
  messages?: object[];
  resume?: object[];
  runId?: string;
  agent?: string;
}

/** One run of AG-UI; each event is as the protocol wants it. */
const run = async (
  threadId: string,
  { messages = [], resume, runId = randomUUID(), agent = AGENT, ...how }: Run = {},
) => {
  const events = await eventsIn(await post(`/ag-ui/${agent}`, { threadId, runId, messages, resume }, how));
  for (const one of events) EventSchemas.parse(one);
  return events;
};

const finished = z.looseObject({
  type: z.literal('RUN_FINISHED'),
  outcome: z.looseObject({
    type: z.string(),
    interrupts: z
      .array(
        z.looseObject({
          id: z.string(),
          reason: z.string(),
          metadata: z.looseObject({ countersign: z.looseObject({ seenDigest: z.string().optional() }) }),
        }),
      )
      .default([]),
  }),
});
const outcomeOf = (events: Event[]) => finished.parse(events.at(-1)).outcome;
const ofType = (events: Event[], type: string): Event[] => events.filter((one) => one.type === type);
const answersOf = (events: Event[]) =>
  ofType(events, 'CUSTOM').flatMap((one) => (one['name'] === 'countersign.answer' ? [one['value']] : []));

const pays = (...tags: string[]) =>
  book.add(
    { text: 'I pay.', toolCalls: tags.map((tag) => ({ name: 'pay', arguments: { tag } })) },
    { text: 'done' },
  );

/** A thread that waits with a request for each tag. */
const waiting = async (...tags: string[]) => {
  const thread = newThread();
  const words = user(pays(...tags));
  const events = await run(thread, { messages: [words] });
  const { interrupts } = outcomeOf(events);
  const said = (at: number, decision: object) => ({
    interruptId: interrupts[at]?.id,
    status: 'resolved',
    payload: { seenDigest: interrupts[at]?.metadata.countersign.seenDigest, ...decision },
  });
  const notMe = (at: number) => ({ interruptId: interrupts[at]?.id, status: 'cancelled' });
  return { thread, words, events, interrupts, said, notMe };
};

test('AG-UI: words start a turn, its request is an interrupt, and an approval leads to the answer', async () => {
  const { thread, events, interrupts, said } = await waiting('agreed');
  expect(events.map(({ type }) => type)).toEqual([
    'RUN_STARTED',
    'STEP_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
    'STEP_FINISHED',
    'RUN_FINISHED',
  ]);
  expect(interrupts).toMatchObject([
    {
      id: interrupt(thread),
      reason: 'tool_call',
      toolCallId: `${thread}.t1/1.1`,
      responseSchema: { properties: { arguments: { required: ['tag'] } } },
      metadata: { countersign: { mayDecide: true, arguments: { tag: 'agreed' } } },
    },
  ]);
  const after = await run(thread, { resume: [said(0, { decision: 'approved', reason: 'fine' })] });
  expect(outcomeOf(after)).toMatchObject({ type: 'success' });
  expect(await effects.lines('agreed')).toEqual(['pay agreed']);
  const view = await client().view(`${thread}.t1`);
  expect(view.calls[0]?.decisions).toMatchObject([
    { approver: 'ann', channel: 'ag-ui', authenticated: true, reason: 'fine' },
  ]);
});

const callIn = (thread: string, call = '1.1'): string => `${thread}.t1/${call}`;
/** What a person is asked of a call. The rest of the id names what was shown, and to whom. */
const interrupt = (thread: string, call?: string): unknown =>
  expect.stringMatching(new RegExp(`^${callIn(thread, call)}#[0-9a-f]{16}$`));

test('an answer counts only for what its sender was shown', async () => {
  const { thread, said } = await waiting('shown');
  const [other] = outcomeOf(await run(thread, { as: 'ben' })).interrupts;
  const mine = said(0, { decision: 'approved' });
  for (const interruptId of [other?.id, callIn(thread), `${callIn(thread)}#${'0'.repeat(16)}`]) {
    const events = await run(thread, { resume: [{ ...mine, interruptId }] });
    expect(answersOf(events)).toMatchObject([{ id: interruptId, status: 'not_open' }]);
    expect(outcomeOf(events).interrupts).toMatchObject([{ id: mine.interruptId }]);
  }
  expect(await effects.lines('shown')).toEqual([]);
});

test('an edit is checked by the schema of the tool, and a wrong one leaves the interrupt open and says why', async () => {
  const { thread, said } = await waiting('edited');
  const wrong = await run(thread, { resume: [said(0, { decision: 'modified', arguments: { tag: 7 } })] });
  expect(answersOf(wrong)).toMatchObject([
    { id: interrupt(thread), status: 'refused', code: 'validation', issues: [{ path: '/tag' }] },
  ]);
  expect(outcomeOf(wrong).interrupts).toMatchObject([{ id: interrupt(thread) }]);
  await run(thread, { resume: [said(0, { decision: 'modified', arguments: { tag: 'edited well' } })] });
  expect(await effects.lines('edited')).toEqual(['pay edited well']);
});

test('a denial runs nothing, and its reason is in the result', async () => {
  const { thread, said } = await waiting('never');
  const events = await run(thread, { resume: [said(0, { decision: 'denied', reason: 'too dear' })] });
  expect(ofType(events, 'TOOL_CALL_RESULT')).toMatchObject([
    {
      toolCallId: callIn(thread),
      content: expect.stringContaining('too dear'),
      metadata: { countersign: { success: false, code: 'denied' } },
    },
  ]);
  expect(await effects.lines('never')).toEqual([]);
});

test('a question is an interrupt with its form, and its answer reaches the model', async () => {
  const thread = newThread();
  const ask = { name: 'ask_user', arguments: { question: 'Which size?' } };
  const events = await run(thread, { messages: [user(book.add({ toolCalls: [ask] }, { text: 'thanks' }))] });
  const [asked] = outcomeOf(events).interrupts;
  expect(asked).toMatchObject({
    reason: 'input_required',
    responseSchema: { required: ['answer'], properties: { content: { type: 'object' } } },
    metadata: { countersign: { question: { text: 'Which size?' } } },
  });
  expect(ofType(events, 'CUSTOM')).toMatchObject([{ name: 'countersign.question_opened' }]);
  const payload = { answer: 'answered', content: { answer: 'large' } };
  const after = await run(thread, { resume: [{ interruptId: asked?.id, status: 'resolved', payload }] });
  expect(outcomeOf(after).type).toBe('success');
  expect(ofType(after, 'TOOL_CALL_RESULT')).toMatchObject([{ content: expect.stringContaining('large') }]);
});

test('of two requests one is decided elsewhere: the run tells how it ended, and `cancelled` denies nothing', async () => {
  const { thread, interrupts, notMe } = await waiting('here', 'elsewhere');
  expect(interrupts).toHaveLength(2);
  await client().decide(`${thread}.t1`, { callId: '1.2', decision: 'approved', approver: 'ben' });
  const left = await until('the other to go on', async () => {
    const { interrupts: open } = outcomeOf(await run(thread, { resume: [notMe(0), notMe(1)] }));
    return open.length === 1 && open;
  });
  expect(left).toMatchObject([{ id: interrupt(thread) }]);
  await until('the effect', async () => (await effects.lines('elsewhere')).length === 1);
  const view = await client().view(`${thread}.t1`);
  expect(view.calls[0]).toMatchObject({ phase: 'request', decisions: [] });
});

describe('a resume', () => {
  const stale = { seenDigest: 'a'.repeat(64), decision: 'approved' };

  test.each([
    ['of another digest than was shown', stale, 'stale_args'],
    ['without the digest', { seenDigest: undefined, decision: 'approved' }, 'usage'],
    ['that is no decision', { decision: 'perhaps' }, 'usage'],
    ['that asks again', { decision: 'ask-again', reason: 'why not' }, 'usage'],
    ['that names who decides', { decision: 'approved', approver: 'boss' }, 'usage'],
    [
      'with arguments of 256 KiB',
      { decision: 'modified', arguments: { tag: 'x'.repeat(262_144) } },
      undefined,
    ],
  ])('%s is refused with words, and the interrupt stays', async (_what, decision, code) => {
    const { thread, said } = await waiting('kept');
    const events = await run(thread, { resume: [said(0, decision)] });
    expect(answersOf(events)).toMatchObject([
      {
        status: 'refused',
        code: code ?? expect.any(String),
        message: expect.any(String),
        link: `http://${HOST}/#/turns/${thread}.t1/calls/1.1`,
      },
    ]);
    expect(outcomeOf(events).interrupts).toHaveLength(1);
    expect(await effects.lines('kept')).toEqual([]);
  });

  test('that is partial leaves the rest open', async () => {
    const { thread, said } = await waiting('one', 'two');
    const events = await run(thread, { resume: [said(0, { decision: 'denied', reason: 'no' })] });
    expect(outcomeOf(events).interrupts).toMatchObject([{ id: interrupt(thread, '1.2') }]);
  });

  test('that answers one call twice is refused as a whole', async () => {
    const { thread, said } = await waiting('twice');
    const resume = [said(0, { decision: 'approved' }), said(0, { decision: 'denied' })];
    const response = await post(`/ag-ui/${AGENT}`, { threadId: thread, runId: 'r', messages: [], resume });
    expect(response.status).toBe(400);
    expect((await client().view(`${thread}.t1`)).calls[0]?.decisions).toEqual([]);
  });

  test('that came before counts once, a late one and one for an unknown call are no error', async () => {
    const { thread, said } = await waiting('once');
    const resume = [said(0, { decision: 'approved' })];
    await run(thread, { resume, runId: 'same' });
    const unknown = { interruptId: 'another/1.1', status: 'resolved', payload: stale };
    const again = await run(thread, { resume: [...resume, unknown], runId: 'same' });
    expect(answersOf(again)).toMatchObject([{ status: 'not_open' }, { status: 'not_open' }]);
    expect(outcomeOf(again).type).toBe('success');
    expect(await effects.lines('once')).toEqual(['pay once']);
  });
});

test('new words leave requests open, and with nothing new a run ends with the same interrupts', async () => {
  const { thread, words, interrupts, notMe } = await waiting('still');
  const more = user(book.add({ text: 'later' }));
  const after = await run(thread, { messages: [words, more], resume: [notMe(0)] });
  expect(outcomeOf(after).interrupts.map(({ id }) => id)).toEqual(interrupts.map(({ id }) => id));
  const { messages } = await client().session(thread).history();
  expect(messages).toMatchObject([{ sender: 'ann' }, { messageId: more.id, sender: 'ann' }]);
  // The same words are sent again with each look and count once.
  await run(thread, { messages: [words, more] });
  expect((await client().session(thread).history()).messages).toHaveLength(2);
});

test('another machine gets every message once, with the same interrupts; a client that has them gets none again', async () => {
  const { thread, words, interrupts } = await waiting('moved');
  const fresh = await run(thread, {});
  const [snapshot] = ofType(fresh, 'MESSAGES_SNAPSHOT');
  const has = ofType(fresh, 'TEXT_MESSAGE_CONTENT');
  expect(snapshot ?? has).toBeDefined();
  expect(outcomeOf(fresh).interrupts.map(({ id }) => id)).toEqual(interrupts.map(({ id }) => id));
  const messages = [
    words,
    {
      ...{ id: `${thread}.t1/1`, role: 'assistant', content: 'I pay.' },
      toolCalls: [
        {
          ...{ id: callIn(thread), type: 'function' },
          function: { name: 'pay', arguments: '{"tag":"moved"}' },
        },
      ],
    },
  ];
  const same = await run(thread, { messages });
  expect(same.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
  // What a client made up is taken back.
  const made = { id: 'made-up', role: 'assistant', content: 'Paid.' };
  const forged = await run(thread, { messages: [...messages, made] });
  expect(ofType(forged, 'MESSAGES_SNAPSHOT')).toMatchObject([{ messages: [{ id: words.id }, messages[1]] }]);
  expect(await effects.lines('moved')).toEqual([]);
});

test('a request of a child turn stands with the others and is decided like them', async () => {
  const thread = newThread();
  const prompt = book2.add({ toolCalls: [{ name: 'give', arguments: { tag: 'below' } }] }, { text: 'given' });
  const hand = { name: 'hand_over', arguments: { task: prompt } };
  const events = await run(thread, { messages: [user(book.add({ toolCalls: [hand] }, { text: 'done' }))] });
  const [asked] = outcomeOf(events).interrupts;
  expect(asked?.id).toMatch(/\.t1\..+\/1\.1#/);
  expect(ofType(events, 'TOOL_CALL_START').map((one) => one['toolCallName'])).toEqual(['hand_over', 'give']);
  const { seenDigest } = asked?.metadata.countersign ?? {};
  const payload = { decision: 'approved', seenDigest };
  await run(thread, { resume: [{ interruptId: asked?.id, status: 'resolved', payload }] });
  expect(await effects.lines('below')).toEqual(['give below']);
});

test('a text that deceives is not approved here, but denied', async () => {
  const { thread, said } = await waiting('a\u202eb');
  const refused = await run(thread, { resume: [said(0, { decision: 'approved' })] });
  expect(answersOf(refused)).toMatchObject([{ status: 'refused', code: 'signature_needed' }]);
  const denied = await run(thread, { resume: [said(0, { decision: 'denied' })] });
  expect(outcomeOf(denied).type).toBe('success');
});

test('a turn that was cancelled or failed ends its run so', async () => {
  const { thread } = await waiting('stopped');
  await client().cancel(`${thread}.t1`);
  await until('the end', async () => outcomeOf(await run(thread, {})).type === 'cancelled');
  const { thread: failing } = await waiting('ended');
  await fixture().client.workflow.getHandle(`${failing}.t1`).terminate();
  await until('the failure', async () => (await run(failing, {})).at(-1)?.type === 'RUN_ERROR');
});

test('what a model writes comes while it writes, and then the rest of it', async () => {
  const thread = newThread();
  const held = new AbortController();
  const reply = async () => {
    // The first piece may be read before the model is asked.
    if (!held.signal.aborted) await once(held.signal, 'abort');
    return { text: 'I write.' };
  };
  const messages = [user(book.add(reply))];
  const response = await post(`/ag-ui/${AGENT}`, { threadId: thread, runId: 'r', messages });
  const piece = { namespace: 'default', turn: `${thread}.t1`, runId: 'r', step: 1, attempt: 1 };
  await app.texts.take([{ ...piece, scheduledAt: Date.now() + 60_000, revision: 0, at: 0, text: 'I w' }]);
  let all = '';
  for await (const bytes of response.body ?? []) {
    all += new TextDecoder().decode(bytes);
    if (all.includes('"I w"')) held.abort();
  }
  const deltas = eventsOf(all).flatMap((one) => (one.type === 'TEXT_MESSAGE_CONTENT' ? [one['delta']] : []));
  expect(deltas.slice(-2)).toEqual(['I w', 'rite.']);
});

describe('who may', () => {
  const refusal = async (response: Response) => [response.status, await response.json()] as const;
  const body = (thread: string, more: object = {}) => ({
    threadId: thread,
    runId: 'r',
    messages: [],
    ...more,
  });

  test.each([
    ['who does not see the agent finds nothing', 'hid', {}, 404, 'not_found'],
    ['a viewer decides nothing', 'vera', { resume: true }, 403, 'not_allowed'],
    ['a viewer says nothing', 'vera', { messages: [user('hello')] }, 403, 'not_allowed'],
    ['words need the right to converse', 'ben', { messages: [user('hello')] }, 403, 'not_allowed'],
  ])('%s', async (_what, as, given, status, code) => {
    const { thread, said } = await waiting('guarded');
    const more = 'resume' in given ? { resume: [said(0, { decision: 'approved' })] } : given;
    const response = await post(`/ag-ui/${AGENT}`, body(thread, more), { as });
    expect(await refusal(response)).toMatchObject([status, { code }]);
    expect((await client().view(`${thread}.t1`)).calls[0]?.decisions).toEqual([]);
  });

  test('who does not see the agent finds nothing at the doors of the AI SDK', async () => {
    const { thread } = await waiting('hidden');
    const headers = { authorization: `Bearer ${tokens.get('hid')}` };
    const posted = await post(`/api/chat/${AGENT}`, { id: thread, messages: [] }, { as: 'hid' });
    const streamed = await app.ask(`/api/chat/${AGENT}/${thread}/stream`, { headers });
    expect([posted.status, streamed.status]).toEqual([404, 404]);
    const messages = [{ id: randomUUID(), role: 'user', parts: [{ type: 'text', text: 'hello' }] }];
    const begun = await post(`/api/chat/${AGENT}`, { id: newThread(), messages }, { as: 'hid' });
    expect(begun.status).toBe(404);
  });

  test('a viewer looks, and sees that they may not decide', async () => {
    const { thread } = await waiting('looked');
    const [seen] = outcomeOf(await run(thread, { as: 'vera' })).interrupts;
    expect(seen?.metadata.countersign).toMatchObject({ mayDecide: false });
  });

  test('a thread is of one agent, and one that nobody began is not there', async () => {
    const { thread } = await waiting('other');
    expect((await post('/ag-ui/another', body(thread))).status).toBe(404);
    expect((await post(`/ag-ui/${AGENT}`, body(newThread()))).status).toBe(404);
  });

  test('a cookie signs nobody in', async () => {
    const headers = { cookie: await app.signIn() };
    const json = body(newThread(), { messages: [user('hello')] });
    const without = ['origin', 'sec-fetch-site'];
    for (const path of [`/ag-ui/${AGENT}`, `/api/chat/${AGENT}`])
      expect((await app.ask(path, { json, headers, without })).status).toBe(401);
  });

  test('only pages of named origins, and by names of this host', async () => {
    const { thread } = await waiting('origin');
    const of = (headers: Record<string, string>) =>
      app.ask(`/ag-ui/${AGENT}`, {
        json: body(thread),
        headers: { authorization: `Bearer ${tokens.get('ann')}`, 'sec-fetch-site': 'cross-site', ...headers },
      });
    expect((await of({ origin: 'https://evil.example.com' })).status).toBe(403);
    expect((await of({ host: 'evil.example.com' })).status).toBe(403);
    const allowed = await of({ origin: SHOP });
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([200, SHOP]);
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull();
    await allowed.body?.cancel();
    const preflight = await app.ask(`/ag-ui/${AGENT}`, {
      method: 'OPTIONS',
      headers: { origin: SHOP, 'access-control-request-headers': 'authorization,content-type' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization,content-type',
    ]);
    // The rest of the API stays closed to that page.
    const api = await app.ask('/api/inbox', { headers: { origin: SHOP, 'sec-fetch-site': 'cross-site' } });
    expect(api.status).toBe(403);
  });

  test('a body of 9 MiB is refused before anything is read of it', async () => {
    const json = body(newThread(), { messages: [user('x'.repeat(9 * 1024 * 1024))] });
    expect((await post(`/ag-ui/${AGENT}`, json)).status).toBe(413);
  });
});

describe('the UI message stream of the AI SDK', () => {
  const says = (text: string) => ({ id: randomUUID(), role: 'user', parts: [{ type: 'text', text }] });
  const chat = async (thread: string, messages: object[], more: object = {}): Promise<Event[]> =>
    eventsIn(await post(`/api/chat/${AGENT}`, { id: thread, messages, trigger: 'submit-message', ...more }));
  const typesOf = (chunks: Event[]) => chunks.map(({ type }) => type);
  const STEP = 'data-countersign-step';
  const asked = z.looseObject({ approvalId: z.string(), toolCallId: z.string() });

  /** A thread that waits, and the client's messages once it has answered the request. */
  const answered = async (tag: string, approved: boolean, id?: string) => {
    const thread = newThread();
    const words = says(pays(tag));
    const chunks = await chat(thread, [words]);
    const { approvalId, toolCallId } = asked.parse(ofType(chunks, 'tool-approval-request')[0]);
    const approval = { id: id ?? approvalId, approved, reason: 'because' };
    const tool = { type: 'dynamic-tool', toolName: 'pay', toolCallId, state: 'approval-responded', approval };
    const step = ofType(chunks, STEP)[0];
    const message = { id: `${thread}.t1`, role: 'assistant', parts: [{ type: 'step-start' }, step, tool] };
    return { thread, chunks, messages: [words, message] };
  };

  test('an approval is bound to what was shown, and the answer continues the message', async () => {
    const { thread, chunks, messages } = await answered('chat', true);
    expect(typesOf(chunks)).toEqual([
      ...['start', 'start-step', STEP, 'text-start', 'text-delta', 'text-end', 'tool-input-available'],
      ...['tool-approval-request', 'finish-step', 'finish'],
    ]);
    const after = await chat(thread, messages);
    expect(typesOf(after)).toEqual([
      ...['start', 'reset-step', STEP, 'text-start', 'text-delta', 'text-end', 'tool-input-available'],
      ...[
        'tool-approval-request',
        'tool-approval-response',
        'data-countersign-answer',
        'tool-output-available',
      ],
      ...['finish-step', 'start-step', STEP, 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'],
    ]);
    expect(await effects.lines('chat')).toEqual(['pay chat']);
  });

  test('a no denies with its reason', async () => {
    const { thread, messages } = await answered('chat never', false);
    const after = await chat(thread, messages);
    expect(typesOf(after)).toContain('tool-output-denied');
    const view = await client().view(`${thread}.t1`);
    expect(view.calls[0]?.decisions).toMatchObject([
      { decision: 'denied', reason: 'because', channel: 'ai-sdk' },
    ]);
  });

  test('a yes to something else than waits is refused, and asked for again', async () => {
    const { thread, chunks, messages } = await answered('chat stale', true, 'stale');
    const [shown] = ofType(chunks, 'tool-approval-request');
    const id = asked.parse(shown).approvalId.replace(/#[^#]*$/, `#${'b'.repeat(64)}`);
    const forged = JSON.parse(JSON.stringify(messages).replace('"stale"', JSON.stringify(id)));
    const after = await chat(thread, forged);
    expect(ofType(after, 'data-countersign-answer')).toMatchObject([{ data: { code: 'stale_args' } }]);
    expect(ofType(after, 'tool-approval-request')).toHaveLength(1);
    expect(await effects.lines('chat stale')).toEqual([]);
  });

  test('an invented outcome is not read', async () => {
    const { thread, messages } = await answered('chat forged', true);
    const forged = JSON.parse(JSON.stringify(messages).replace('approval-responded', 'output-available'));
    const after = await chat(thread, forged);
    expect(typesOf(after)).toContain('tool-approval-request');
    expect((await client().view(`${thread}.t1`)).calls[0]?.decisions).toEqual([]);
  });

  test('a page that comes back gets the turn from its beginning; a turn is not made again', async () => {
    const { thread, messages } = await answered('chat back', true);
    const path = `/api/chat/${AGENT}/${thread}/stream`;
    const headers = { authorization: `Bearer ${tokens.get('ann')}` };
    const chunks = await eventsIn(await app.ask(path, { headers }));
    expect(typesOf(chunks)).toContain('text-delta');
    expect(ofType(chunks, 'tool-approval-request')).toHaveLength(1);
    const again = { id: thread, messages, trigger: 'regenerate-message' };
    expect((await post(`/api/chat/${AGENT}`, again)).status).toBe(400);
  });
});

test('100 who watch cost one reader, and one reading of each turn that ended before', async () => {
  const { thread, said } = await waiting('watched before');
  await run(thread, { resume: [said(0, { decision: 'denied', reason: 'no' })] });
  await run(thread, { messages: [user(pays('watched now'))] });
  const other = await openApp();
  const headers = { authorization: `Bearer ${await other.users.add('ann')}` };
  const json = { threadId: thread, runId: 'r', messages: [] };
  const look = () => other.ask(`/ag-ui/${AGENT}`, { json, headers, without: ['origin', 'sec-fetch-site'] });
  readers.length = 0;
  const runs = Array.from({ length: 100 }, async () => eventsIn(await look()));
  const ended = await Promise.all(runs);
  expect(ended.map((events) => outcomeOf(events).interrupts.map(({ id }) => id))).toEqual(
    runs.map(() => [expect.stringMatching(`^${thread}.t2/1.1#`)]),
  );
  expect(readers.sort()).toEqual(['session', 'timeline']);
  other.close();
  await other.remove();
}, 60_000);

describe('where a rule says who decides', () => {
  const RULED = 'own-page-ruled';
  const ruledBook = scriptBook();
  let ruled: Fixture;
  beforeAll(async () => {
    ruled = await startFixture({});
    const approvers = join(ruled.directory, 'approvers.yaml');
    await writeFile(
      approvers,
      `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { ann: {}, ben: {} }
rules:
  - { name: bens, tools: [pay], then: ask, approvers: { any: [ben] } }
  - { name: default, then: by_safety }
`,
    );
    const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous' })];
    const clerk = defineAgent({ name: RULED, instructions: 'do', model: ruledBook.model, tools });
    await ruled.addWorker({}, { agents: [clerk], approvers });
  });

  test('who may not decide by it is refused, which is recorded, and who may decides', async () => {
    const thread = newThread();
    const how = { agent: RULED, queue: ruled.taskQueue };
    const pay = { name: 'pay', arguments: { tag: 'by rule' } };
    const words = user(ruledBook.add({ toolCalls: [pay] }, { text: 'done' }));
    const [asked] = outcomeOf(await run(thread, { ...how, messages: [words] })).interrupts;
    const { seenDigest } = asked?.metadata.countersign ?? {};
    expect(asked?.metadata.countersign).toMatchObject({
      mayDecide: false,
      voting: expect.stringContaining('bens'),
    });
    const payload = { decision: 'approved', seenDigest };
    const resumeOf = (interruptId = '') => [{ interruptId, status: 'resolved', payload }];
    const refused = await run(thread, { ...how, resume: resumeOf(asked?.id) });
    expect(answersOf(refused)).toMatchObject([{ status: 'refused', code: 'not_allowed' }]);
    expect(outcomeOf(refused).interrupts).toMatchObject([{ id: asked?.id }]);
    const lines = (await readFile(app.refusalsFile, 'utf8')).trim().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      ...{ user: 'ann', agent: RULED, turn: `${thread}.t1`, callId: '1.1' },
      ...{ what: 'decision', code: 'not_allowed' },
    });
    expect(await effects.lines('by rule')).toEqual([]);
    const [offered] = outcomeOf(await run(thread, { ...how, as: 'ben' })).interrupts;
    expect(offered?.metadata.countersign).toMatchObject({ mayDecide: true });
    expect(outcomeOf(await run(thread, { ...how, as: 'ben', resume: resumeOf(offered?.id) })).type).toBe(
      'success',
    );
    expect(await effects.lines('by rule')).toEqual(['pay by rule']);
  });
});

test('a stream that breaks in the middle changes nothing', async () => {
  const { thread, said } = await waiting('broken');
  const json = { threadId: thread, runId: 'b', messages: [], resume: [said(0, { decision: 'approved' })] };
  const response = await post(`/ag-ui/${AGENT}`, json);
  await response.body?.cancel();
  expect(outcomeOf(await run(thread, {})).type).toBe('success');
  expect(await effects.lines('broken')).toEqual(['pay broken']);
});
