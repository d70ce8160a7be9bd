import { randomUUID } from 'node:crypto';
import { Client, isGrpcServiceError } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import fc from 'fast-check';
import { connect, type Countersign } from '../../src/client';
import { isObject } from '../../src/contract/json';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import { loadEncryption } from '../../src/encryption/load';
import type { TurnInput, TurnResult } from '../../src/contract/turn';
import type { Model } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { anyName, anyPayload, anyValue, json } from '../support/outsider';
import { runs } from '../support/properties';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { decide, eventsOf, openOf, send, waitFor, type HistoryEvent } from '../support/turns';
import { until } from '../support/until';

const RUNS = 4;
// A test takes as much longer as COUNTERSIGN_RUNS asks of it.
jest.setTimeout(75_000 * Math.max(runs(RUNS), RUNS));

/**
 * Random messages to live turns on a real server, from the list in docs/security.md: no workflow task fails, the worker
 * lives, the right decision still counts, and what is decided happens once. A failure prints the seed and what was
 * drawn; COUNTERSIGN_SEED hunts for more.
 */

type Payload = temporal.api.common.v1.IPayload;
type Failure = temporal.api.failure.v1.IFailure;

const payloads = fc.array(anyPayload, { maxLength: 3 });
const fields = (names: fc.Arbitrary<string>): fc.Arbitrary<Record<string, Payload>> =>
  fc.dictionary(names, anyPayload, { maxKeys: 3, noNullPrototype: true });
const header = fields(anyName);
/** Temporal's own names among them. `abandon` is left out: it ends the turn, which is what it is for. */
const doorName = fc.oneof(
  fc.constantFrom('nobody', '__temporal_x', '__stack_trace'),
  anyName.filter((name) => name !== '' && name !== 'abandon'),
);

/** Nearly right, and each wrong in one thing. */
const NEARLY = [
  { callId: '1.1', decision: 'approved', callKey: 'elsewhere:1.1' },
  { callId: '1.1', decision: 'approved', seenDigest: '0'.repeat(64) },
  { callId: '1.1', decision: 'approved', tool: 'pay' },
  { callId: '1.1', decision: 'Approved' },
  { callId: '1.2', decision: 'approved' },
  { callId: '1.1', decision: 'approved', hunks: ['1'] },
  { callId: '1.1', decision: 'denied', reason: 'x'.repeat(300 * 1024) },
  { callId: '1.1', resolution: 'run' },
  { callId: '1.1', resolution: 'happened', result: 'paid' },
  { callKey: 'elsewhere:1.1', generation: 0, secret: 'guessed', result: { callId: '1.1' } },
  { from: -1 },
];
const nearly = fc.oneof(
  fc.constantFrom(...NEARLY),
  anyValue
    .filter((drawn) => !isObject(drawn) || drawn['tag'] === undefined)
    .map((drawn) => ({ callId: '1.1', decision: 'modified', arguments: drawn })),
);

/** A right decision would be one: the test could not say what has to follow. */
const isRight = ({ data }: Payload): boolean =>
  /"1\.1"/.test(String(data)) && /"(approved|denied)"/.test(String(data));
const input = fc.oneof(
  payloads.filter((drawn) => !drawn.some(isRight)),
  nearly.map((drawn) => [json(drawn)]),
  fc.tuple(nearly, anyPayload).map(([first, second]) => [json(first), second]),
);
const door = (...ours: string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...ours) }, { weight: 1, arbitrary: doorName });
const message = fc.oneof(
  fc.record({
    by: fc.constant('signal' as const),
    name: door('approval', 'resolution', 'outcome', 'answer', 'words'),
    input,
    header,
  }),
  fc.record({
    by: fc.constant('update' as const),
    name: door('decide', 'resolve', 'answer', 'ask'),
    input,
    header,
  }),
  fc.record({
    by: fc.constant('query' as const),
    name: door('transcript', 'tools', 'record'),
    input,
    header,
  }),
);

/** Each is wrong in one thing for a session. */
const NEARLY_SAID = [
  ...[
    { messageId: 'm', text: ' ' },
    { messageId: '', text: 'hi' },
    { text: 'hi' },
    { messageId: 'm' },
    7,
    [],
  ],
  ...[
    { messageId: 'm', text: 'hi', mode: 'shout' },
    { messageId: 'm', text: 'hi', agent: 'nobody' },
  ],
  ...[
    { messageId: 'm', text: 'hi', sender: 7 },
    { messageId: 'm', text: 'x'.repeat(1_100_000) },
  ],
  ...[{ action: 'open' }, { action: 'close', cancel: 'yes' }, { action: 'pause', more: 1 }],
];
const said = fc.record({
  by: fc.constantFrom('signal' as const, 'update' as const),
  name: door('send', 'control'),
  input: fc.oneof(
    payloads,
    fc.constantFrom(...NEARLY_SAID).map((drawn) => [json(drawn)]),
  ),
  header,
});

const { TimeoutType } = temporal.api.enums.v1;
/** What an operator, or a client of its own, may say that an activity failed with. */
const failure: fc.Arbitrary<Failure> = fc.letrec<{ failure: Failure }>((tie) => ({
  failure: fc.record(
    {
      message: fc.string(),
      source: fc.constantFrom('TypeScriptSDK', 'GoSDK', ''),
      stackTrace: fc.string(),
      encodedAttributes: anyPayload,
      cause: fc.option(tie('failure'), { nil: null, maxDepth: 2 }),
      applicationFailureInfo: fc.record({
        type: fc.oneof(
          fc.constantFrom('countersign.retry', 'countersign.not_here', 'NotFoundError'),
          fc.string(),
        ),
        nonRetryable: fc.boolean(),
        details: payloads.map((drawn) => ({ payloads: drawn })),
      }),
      canceledFailureInfo: payloads.map((drawn) => ({ details: { payloads: drawn } })),
      timeoutFailureInfo: payloads.map((drawn) => ({
        timeoutType: TimeoutType.TIMEOUT_TYPE_HEARTBEAT,
        lastHeartbeatDetails: { payloads: drawn },
      })),
    },
    { requiredKeys: ['message'] },
  ),
})).failure;
/** One, or none. A list of none or of several stops a turn before our code sees it; see below. */
const result = fc.option(
  anyPayload.map((one) => [one]),
  { nil: undefined },
);
/** How somebody ends an activity that runs on a worker. */
const end = fc.oneof(
  fc.record({ how: fc.constant('completed' as const), beat: payloads, result }),
  fc.record({ how: fc.constant('failed' as const), beat: payloads, failure }),
);

const plan = fc.record({
  memo: fields(fc.oneof(fc.constantFrom('open', 'verdicts', 'prompt', 'fork'), anyName)),
  header,
  more: payloads,
  identity: fc.string({ unit: 'binary', maxLength: 60 }),
  thinks: fc.array(result, { maxLength: 2 }),
  before: fc.array(message, { minLength: 8, maxLength: 20 }),
  decision: fc.constantFrom('approved' as const, 'denied' as const),
  during: fc.array(message, { maxLength: 6 }),
  payEnd: fc.option(end, { nil: undefined }),
  lookEnd: fc.option(end, { nil: undefined }),
});
type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;
type Plan = Drawn<typeof plan>;
type Message = Drawn<typeof message>;
type End = Drawn<typeof end>;

const effects = useEffects();
const book = scriptBook();
/** How often the model does not answer a prompt. */
const silences = new Map<string, number>();
/** The calls that do not return by themselves, by tool and tag. */
const staying = new Set<string>();
let fixture: Fixture;
let client: Countersign;
/** Leaves out what an outsider's memo holds, which the SDK's own converter chokes on. */
let lenient: Client;
let turns = 0;

const model: Model = {
  id: 'fuzz',
  generate: (request) => {
    const prompt = request.messages[0]?.content ?? '';
    const left = silences.get(prompt) ?? 0;
    silences.set(prompt, left - 1);
    return left > 0 ? new Promise<never>(() => {}) : book.model.generate(request);
  },
};
const stayIf =
  (tool: string) =>
  (tag: string, { signal }: { signal: AbortSignal }): unknown =>
    // Once: what an operator failed may be retried.
    staying.delete(`${tool} ${tag}`)
      ? new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'), { once: true }))
      : undefined;

beforeAll(async () => {
  const tools = [
    recordTool(
      effects,
      { name: 'pay', safety: 'dangerous', verify: () => ({ outcome: 'cannot_tell' }) },
      stayIf('pay'),
    ),
    recordTool(effects, { name: 'look' }, stayIf('look')),
  ];
  fixture = await startFixture({ agents: [defineAgent({ name: 'fuzz', instructions: 'do', model, tools })] });
  client = await connect({ address: testAddress() });
  lenient = new Client({
    connection: fixture.client.connection,
    dataConverter: loadEncryption({ required: false }).listing(),
  });
});
afterAll(() => client.close());

const callOf = (name: string, tag: string) => ({ toolCalls: [{ name, arguments: { tag } }] });

/** Starts a turn as a client of another language could. */
const start = async (tag: string, { memo, header, more, identity, thinks }: Plan): Promise<TurnHandle> => {
  const prompt = book.add(callOf('pay', tag), callOf('look', tag), { text: 'done' });
  silences.set(prompt, thinks.length);
  const workflowId = `fuzz-${randomUUID()}`;
  await fixture.client.workflowService.startWorkflowExecution({
    ...{ namespace: 'default', workflowId, requestId: workflowId, identity },
    workflowType: { name: 'agentTurn' },
    taskQueue: { name: fixture.taskQueue },
    input: { payloads: [json({ agent: 'fuzz', prompt }), ...more] },
    memo: { fields: memo },
    header: { fields: header },
    searchAttributes: { indexedFields: { [SEARCH_ATTRIBUTES.pending]: json(7) } },
  });
  return lenient.workflow.getHandle<(input: TurnInput) => Promise<TurnResult>>(workflowId);
};

const execution = ({ workflowId }: TurnHandle) => ({ namespace: 'default', workflowId });

/** Sends one; the server may refuse what it does not know, and an update has to be answered. */
const sendRaw = async (handle: TurnHandle, { by, name, input, header }: Message): Promise<void> => {
  const { workflowService } = fixture.client;
  const workflowExecution = { workflowId: handle.workflowId };
  const sent = { payloads: input };
  const fields = { fields: header };
  if (by === 'signal') {
    await workflowService.signalWorkflowExecution({
      ...{ namespace: 'default', workflowExecution, signalName: name },
      ...{ input: sent, header: fields },
    });
  } else if (by === 'update') {
    const answer = await workflowService.updateWorkflowExecution({
      ...{ namespace: 'default', workflowExecution },
      waitPolicy: {
        lifecycleStage:
          temporal.api.enums.v1.UpdateWorkflowExecutionLifecycleStage
            .UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
      },
      request: {
        meta: { updateId: randomUUID(), identity: name },
        input: { name, args: sent, header: fields },
      },
    });
    expect(answer.outcome?.failure).toBeDefined();
  } else {
    const query = { queryType: name, queryArgs: sent, header: fields };
    const asked = workflowService.queryWorkflow({
      namespace: 'default',
      execution: workflowExecution,
      query,
    });
    if (name === 'transcript') expect(await asked).toMatchObject({ queryResult: expect.anything() });
    else await asked.catch(refusedQuery);
  }
};

const INVALID_ARGUMENT = 3;
const refusedQuery = (error: unknown): void => {
  if (!isGrpcServiceError(error) || Number(error.code) !== INVALID_ARGUMENT) throw error;
};

/** Ends an activity from outside, once a worker has it; before, somebody beats for it. */
const endActivity = async (handle: TurnHandle, activityId: string, ended: End): Promise<void> => {
  const { workflowService } = fixture.client;
  const activity = { ...execution(handle), activityId };
  await until(activityId, async () => {
    const { raw } = await handle.describe();
    return raw.pendingActivities?.some((one) => one.activityId === activityId && one.state === 2);
  });
  await workflowService.recordActivityTaskHeartbeatById({ ...activity, details: { payloads: ended.beat } });
  if (ended.how === 'failed')
    await workflowService.respondActivityTaskFailedById({ ...activity, failure: ended.failure });
  else
    await workflowService.respondActivityTaskCompletedById({
      ...activity,
      ...(ended.result && { result: { payloads: ended.result } }),
    });
};

/** A call that somebody else ended is in doubt, or has the result they gave it. */
const settle = async (handle: TurnHandle, tag: string): Promise<void> => {
  const kind = await until(`${tag} to be settled`, async () => {
    const isInDoubt = (await openOf(handle))?.items.some((item) => item.kind === 'in_doubt');
    if (isInDoubt === true) return 'in doubt';
    const { length } = await effects.lines(`look ${tag}`);
    return length > 0 && 'over';
  });
  if (kind === 'over') return;
  const verdict = await send(handle, 'resolve', { callId: '1.1', resolution: 'happened' });
  // A resolution that was signalled before, or the report of the call's own worker, may be read before this one.
  expect(verdict).toMatchObject(verdict.accepted ? {} : { code: 'already_decided' });
};

/** The server takes the end of a turn back, and gives its task again, when a message came meanwhile. */
const TAKEN_BACK = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;

/**
 * A task that failed in our code, or that its worker did not end in time and was given again more than once: a busy
 * machine is too late once. Of the further attempts the server writes only the last, with its number.
 */
const isBad = (event: HistoryEvent, at: number, events: readonly HistoryEvent[]): boolean => {
  const { workflowTaskFailedEventAttributes: failed, workflowTaskTimedOutEventAttributes: late } = event;
  if (failed != null) return failed.cause !== TAKEN_BACK;
  if (late?.timeoutType !== TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE) return false;
  const again = events.slice(at).find((next) => next.workflowTaskScheduledEventAttributes != null);
  return (again?.workflowTaskScheduledEventAttributes?.attempt ?? 0) > 2;
};

const play = async (tag: string, plan: Plan): Promise<void> => {
  const { decision, payEnd, lookEnd } = plan;
  const staysPaying = decision === 'approved' && payEnd !== undefined;
  if (staysPaying) staying.add(`pay ${tag}`);
  if (lookEnd !== undefined) staying.add(`look ${tag}`);
  const handle = await start(tag, plan);
  for (const [at, result] of plan.thinks.entries())
    await endActivity(handle, at === 0 ? 'think-1' : `think-1-again-${at}`, {
      ...{ how: 'completed', beat: [], result },
    });
  await waitFor(handle, '1.1', 'request');
  for (const one of plan.before) await sendRaw(handle, one);
  expect(await decide(handle, { callId: '1.1', decision })).toMatchObject({ accepted: true });
  if (staysPaying) {
    await until('the payment', async () => (await effects.lines(`pay ${tag}`)).length > 0);
    for (const one of plan.during) await sendRaw(handle, one);
    await endActivity(handle, 'call-1.1-0', payEnd);
    await settle(handle, tag);
  }
  if (lookEnd !== undefined) await endActivity(handle, 'call-2.1-0', lookEnd);
  expect(await handle.result()).toMatchObject({ status: 'answered', answer: 'done' });
  expect(await effects.lines(`pay ${tag}`)).toHaveLength(decision === 'approved' ? 1 : 0);
  expect((await eventsOf(handle)).filter(isBad)).toEqual([]);
  expect(await client.view(handle.workflowId)).toMatchObject({ answer: 'done' });
};

test('whatever is sent to a turn, no task fails and what is decided happens once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 5, maxLength: 5 }), async (plans) => {
      // All of them end before the worker does, also when one fails.
      const played = await Promise.allSettled(plans.map((one) => play(`<${++turns}>`, one)));
      for (const one of played) if (one.status === 'rejected') throw one.reason;
    }),
    // Turns that hang take a while to say so: shrinking would take minutes. The seed repeats what was drawn.
    { numRuns: runs(RUNS), endOnFailure: true },
  );
  const handle = await fixture.start('fuzz', book.add({ text: 'alive' }));
  expect(await handle.result()).toMatchObject({ answer: 'alive' });
});

test('whatever is sent to a session, no task fails and the conversation goes on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(said, { minLength: 20, maxLength: 30 }), async (drawn) => {
      const session = client.session(`fuzz-${randomUUID()}`, { agent: 'fuzz', taskQueue: fixture.taskQueue });
      const answered = async (text: string): Promise<void> => {
        await session.send({ text: book.add({ text }), messageId: text });
        await until(`the answer ${text}`, async () =>
          (await session.history()).turns.some(({ answer }) => answer === text),
        );
      };
      await answered('before');
      const handle: TurnHandle = fixture.client.workflow.getHandle(session.id);
      for (const one of drawn) await sendRaw(handle, one);
      await answered('after');
      expect((await eventsOf(handle)).filter(isBad)).toEqual([]);
      const { turns: all, state } = await session.history();
      expect({ count: all.length, state }).toEqual({ count: 2, state: 'open' });
    }),
    { numRuns: runs(RUNS), endOnFailure: true },
  );
});

/**
 * Temporal's core refuses the event before any code of ours runs, so this cannot be read as the others are. If the core
 * takes it one day, this test fails, and the list in docs/security.md gets shorter.
 */
test.each([
  ['no payload', []],
  ['two payloads', [json(1), json(2)]],
])('a result of %s stops a turn, which says so; a reset takes it back', async (what, given) => {
  const tag = `<${what}>`;
  staying.add(`pay ${tag}`);
  const prompt = book.add(callOf('pay', tag), { text: 'done' });
  const handle = await fixture.start('fuzz', prompt);
  await waitFor(handle, '1.1', 'request');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await until('the payment', async () => (await effects.lines(tag)).length > 0);
  await endActivity(handle, 'call-1.1-0', { how: 'completed', beat: [], result: given });
  const failing = await until('the failing task', async () => {
    const { failingTask } = await client.pendingActivities(handle.workflowId);
    return failingTask?.reason !== undefined && failingTask;
  });
  expect(failing.reason).toContain('Not exactly one payload in activity result');
  await client.reset(await client.planReset(handle.workflowId, '1.1'));
  const anew = fixture.client.workflow.getHandle<(input: TurnInput) => Promise<TurnResult>>(
    handle.workflowId,
  );
  await waitFor(anew, '1.1', 'request');
  expect(await decide(anew, { callId: '1.1', decision: 'approved' })).toMatchObject({ accepted: true });
  // The first run of the call is given up, and returns then. Once it has, its outcome is known, and nobody is asked.
  const how = await until('1.1 to be in doubt or over', async () => {
    const isInDoubt = (await openOf(anew))?.items.some(({ kind }) => kind === 'in_doubt');
    if (isInDoubt === true) return 'in doubt';
    return (await anew.describe()).status.name === 'COMPLETED' && 'over';
  });
  if (how === 'in doubt') await send(anew, 'resolve', { callId: '1.1', resolution: 'happened' });
  expect(await anew.result()).toMatchObject({ status: 'answered' });
  expect(await effects.lines(tag)).toHaveLength(1);
});
