import { randomUUID } from 'node:crypto';
import { connect, type Countersign, type Session } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { createEvalTools } from '../../src/tools/eval';
import { calls, startFixture, type Fixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { describeWithBubblewrap } from '../support/sandbox';
import { until } from '../support/until';

/** A server that suggests to continue as new after a few events. */
const SUGGEST = 'limit.historyCount.suggestContinueAsNew=5';

const LOST = '[The state that earlier calls had made is lost. This call began without it.]';

const memory = new Map<string, string[]>();
const recall = defineTool({
  name: 'recall',
  description: 'Remembers tags.',
  parameters: { type: 'object', properties: { tag: { type: 'string' } }, required: ['tag'] },
  state: 'session',
  handler: ({ tag }, { state = { key: '', lost: false } }) => {
    const tags = [...(memory.get(state.key) ?? []), String(tag)];
    memory.set(state.key, tags);
    return tags.join('+');
  },
});

const book = scriptBook();
const evaluates = createEvalTools({ state: 'session' });
const agents = [
  defineAgent({ name: 'a', instructions: 'do', model: book.model, tools: [recall] }),
  defineAgent({ name: 'evaluates', instructions: 'do', model: book.model, tools: evaluates }),
];

let fixture: Fixture;
let client: Countersign;
beforeAll(async () => {
  fixture = await startFixture({ agents });
  client = await connect({ client: fixture.client });
});

const open = (using = client, { taskQueue } = fixture, agent = 'a'): Session =>
  using.session(`s-${randomUUID()}`, { agent, taskQueue });

const remember = (...tags: string[]): string =>
  book.add({ toolCalls: tags.map((tag) => ({ name: 'recall', arguments: { tag } })) }, readBack);

/** Says something, and waits until so many turns are over; what the last call said. */
const say = async (
  session: Session,
  text: Parameters<Session['send']>[0],
  count: number,
): Promise<string> => {
  await session.send(text);
  return until(`turn ${count}`, async () => {
    const { turns } = await session.history();
    const isOver = turns.length === count && turns.every(({ status }) => status !== 'running');
    return isOver && (turns.at(-1)?.answer?.split(' | ').at(-1) ?? 'no answer');
  });
};

test('later turns of a session see it; other sessions, and turns of none, do not', async () => {
  const [one, other] = [open(), open()];
  expect(await say(one, remember('a', 'b'), 1)).toBe('a+b');
  expect(await say(other, remember('x'), 1)).toBe('x');
  expect(await say(one, remember('c'), 2)).toBe('a+b+c');
  const alone = await fixture.start(
    'a',
    book.add({ toolCalls: [call('y')] }, { toolCalls: [call('z')] }, readBack),
  );
  expect((await alone.result()).answer).toBe('y | y+z');
});

const call = (tag: string) => ({ name: 'recall', arguments: { tag } });

test('a turn that only says that it is of the session has another', async () => {
  const session = open();
  await say(session, remember('a'), 1);
  const first = await fixture.client.workflow.getHandle(`${session.id}.t1`).describe();
  const known = JSON.stringify(['session', 'recall', '']);
  const [{ states } = { states: undefined }] = [
    await fixture.client.workflow
      .getHandle(`${session.id}.t1`)
      .query<{ states?: { known: [string, object][] } }>('record'),
  ];
  expect(states?.known).toEqual([[known, { holder: expect.objectContaining({ runId: first.runId }) }]]);
  const forged = await fixture.client.workflow.start('agentTurn', {
    workflowId: `${session.id}.t2`,
    taskQueue: fixture.taskQueue,
    args: [
      {
        agent: 'a',
        prompt: remember('z'),
        session: { sessionId: session.id, runId: 'r', messageId: 'm', count: 0, digest: '' },
        sessionStates: states?.known,
      },
    ],
  });
  expect(await forged.result()).toMatchObject({ answer: 'z' });
});

test('a turn that was interrupted leaves it to the next one', async () => {
  const session = open();
  let asked = (): void => undefined;
  const wasAsked = new Promise<void>((resolve) => (asked = resolve));
  const hangs = () => (asked(), new Promise<never>(() => undefined));
  await session.send(book.add({ toolCalls: [call('a')] }, hangs));
  await wasAsked;
  expect(await say(session, { text: remember('b'), mode: 'interrupt' }, 2)).toBe('a+b');
});

test('it stays where turns and session continue as new', async () => {
  const own = await startFixture({ ownServer: { dynamicConfig: [SUGGEST] }, agents });
  const there = await connect({ address: own.address });
  const session = open(there, own);
  const steps = ['a', 'b'].map((tag) => ({ toolCalls: [call(tag)] }));
  expect(await say(session, book.add(...steps, readBack), 1)).toBe('a+b');
  expect(await say(session, remember('c'), 2)).toBe('a+b+c');
  expect(await say(session, remember('d'), 3)).toBe('a+b+c+d');
  const { events } = await own.client.workflow.getHandle(session.id).fetchHistory();
  expect(events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId).toBeTruthy();
  await there.close();
});

test('a session that goes another way after a reset begins anew, and says so', async () => {
  const session = open();
  expect(await say(session, remember('a'), 1)).toBe('a');
  const handle = fixture.client.workflow.getHandle(session.id);
  const eventId = await until('the end of the first turn to be taken up', async () => {
    const events = (await handle.fetchHistory()).events ?? [];
    const end = events.findIndex((event) => event.childWorkflowExecutionCompletedEventAttributes != null);
    const after = end === -1 ? [] : events.slice(end);
    return after.find((event) => event.workflowTaskCompletedEventAttributes != null)?.eventId;
  });
  expect(await say(session, remember('b'), 2)).toBe('a+b');
  const { namespace } = fixture.client.options;
  await fixture.client.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: session.id },
    workflowTaskFinishEventId: eventId,
    requestId: randomUUID(),
    reason: 'another way',
    // What was said after that point is not said again.
    resetReapplyType: 2,
    resetReapplyExcludeTypes: [1, 2],
  });
  const said = await say(session, remember('c'), 2);
  expect(said).toContain(LOST);
  expect(said.replace(LOST, '').trim()).toBe('c');
  expect(await say(session, remember('d'), 3)).toBe('c+d');
});

test('a fork of a turn has none of it, and says so', async () => {
  const session = open();
  await say(session, remember('a'), 1);
  expect(await say(session, remember('b'), 2)).toBe('a+b');
  const { turn } = await client.fork({ turn: `${session.id}.t2`, at: '1' });
  const { answer } = await fixture.client.workflow.getHandle(turn).result();
  expect(answer).toContain(LOST);
  expect(answer.replace(LOST, '').trim()).toBe('b');
  expect(await say(session, remember('c'), 3)).toBe('a+b+c');
});

describeWithBubblewrap('eval_code of a session', () => {
  test('keeps its process from turn to turn, and says when that is gone', async () => {
    const session = open(client, fixture, 'evaluates');
    const evaluate = (code: string): string =>
      book.add({ toolCalls: [{ name: 'eval_code', arguments: { code } }] }, readBack);
    expect(await say(session, evaluate('const x = 41'), 1)).toBe('Value: undefined');
    expect(await say(session, evaluate('x + 1'), 2)).toBe('Value: 42');
    expect(await say(session, evaluate('process.exit(3)'), 3)).toContain('is lost');
    expect(await say(session, evaluate('typeof x'), 4)).toContain('This is a new process');
  });
});

test('where its worker is killed between turns, the next turn begins anew, and says so', async () => {
  const own = await startFixture();
  const workers = await Promise.all([own.addProcess(), own.addProcess()]);
  const there = await connect({ address: own.address });
  const session = open(there, own, 'crash');
  const keep = (tag: string): string => JSON.stringify([calls(`keep:${tag}`)]);
  await say(session, keep('a'), 1);
  const [effect] = await own.effectsOf('a', 1);
  const holder = workers.find(({ pid }) => pid === effect?.pid);
  const other = workers.find((one) => one !== holder);
  expect(await say(session, keep('b'), 2)).toBe(`a+b in ${holder?.pid}`);
  await holder?.kill();
  const said = await say(session, keep('c'), 3);
  expect(said).toContain(LOST);
  expect(said).toContain(`c in ${other?.pid}, lost`);
  expect(await say(session, keep('d'), 4)).toBe(`c+d in ${other?.pid}`);
  await there.close();
});
