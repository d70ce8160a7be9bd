import { temporal } from '@temporalio/proto';
import type { WorkflowInboundCallsInterceptor } from '@temporalio/workflow';
import { LIMITS } from '../../src/contract/limits';
import { FAILURES, SIGNALS, UPDATES } from '../../src/contract/names';
import type { ThinkOutput } from '../../src/contract/think';
import { noteUnreadable } from '../../src/contract/unreadable';
import { agentTurn } from '../../src/workflows/agent-turn';
import { result, thinkOutput } from '../history/script';
import { type CallShape, PAY_SCHEMA, validCall } from '../support/calls';
import {
  type Command,
  endWorkflow,
  type Job,
  jobs,
  lines,
  valueIn,
  type WorkflowStart,
  WorkflowUnderTest,
} from '../support/workflow';

afterEach(endWorkflow);

const AUTO_UPGRADE =
  temporal.api.enums.v1.ContinueAsNewVersioningBehavior.CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_AUTO_UPGRADE;
const INPUT = { agent: 'clerk', prompt: 'pay the bill' };
const ANSWER = thinkOutput([], { replyId: 'r2', text: 'paid' });
const PURE: CallShape = { kind: 'run', effect: 'pure' };
const IDEMPOTENT: CallShape = { kind: 'run', effect: 'idempotent' };
const UNSAFE: CallShape = { kind: 'run', effect: 'unsafe' };
const ASK: CallShape = { kind: 'ask', effect: 'unsafe' };

const replyOf = (shapes: readonly CallShape[], more: Partial<ThinkOutput> = {}): ThinkOutput =>
  thinkOutput(
    shapes.map((shape, index) => validCall({ callId: `1.${index + 1}`, ...shape })),
    { schemas: { 'pay-1': PAY_SCHEMA }, ...more },
  );
const done = (seq: number, callId = '1.1'): Job =>
  jobs.completed(seq, { result: result(callId), contentDigest: '0'.repeat(64) });
const failed = (seq: number, cause: temporal.api.failure.v1.IFailure): Job =>
  jobs.failed(seq, { message: 'failed', activityFailureInfo: { activityType: { name: 'pay' } }, cause });
const lost = (seq: number): Job =>
  failed(seq, { message: 'heartbeat', timeoutFailureInfo: { timeoutType: 4 } });
const decide = (decision: string, callId = '1.1'): Job =>
  jobs.update(UPDATES.decide, { callId, decision, approver: 'ann' });
const resolve = (resolution: string): Job => jobs.update(UPDATES.resolve, { callId: '1.1', resolution });
const signal = (decision: string): Job => jobs.signal(SIGNALS.approval, { callId: '1.1', decision });

/** What comes in one workflow task, the commands that follow, and how many ms after the task before. */
type Task = [come: Job[], commands: string[], later?: number];

const OPENED = ['start timer 1', 'memo open', 'search attributes'];
const CLOSED = ['memo open', 'search attributes'];
/** As above, and the workflow closed a call by itself. */
const CLOSED_BY_ITSELF = ['memo open closed', 'search attributes'];
const TAKEN = ['accept update', 'complete update'];

const start = (input: unknown = INPUT, more: WorkflowStart = {}) =>
  WorkflowUnderTest.start(agentTurn, { ...more, args: [input] });

/** Plays a turn task by task; what each task gives has to be as in the row. */
async function play(reply: unknown, tasks: readonly Task[]): Promise<void> {
  const { workflow } = await start();
  const [first, ...rest] = tasks;
  const all: Task[] = [[[jobs.completed(1, reply)], first?.[1] ?? []], ...rest];
  for (const [come, commands, later] of all)
    expect(lines(await workflow.task(come, later))).toEqual(commands);
}

const REPLIED: Job[] = [];

describe('a turn gives these commands, task by task:', () => {
  it.each<[string, ThinkOutput, Task[]]>([
    ['an answer ends it', ANSWER, [[REPLIED, ['search attributes', 'completeWorkflowExecution']]]],
    [
      'pure calls run side by side, and the model is asked when all have ended',
      replyOf([PURE, PURE]),
      [
        [REPLIED, ['schedule call-1.1-0', 'schedule call-1.2-0']],
        [[done(3, '1.2')], []],
        [[done(2)], ['schedule think-2']],
      ],
    ],
    [
      'calls with an effect run one after another',
      replyOf([IDEMPOTENT, UNSAFE]),
      [
        [REPLIED, ['schedule call-1.1-0']],
        [[done(2)], ['schedule call-1.2-0']],
        [[done(3, '1.2')], ['schedule think-2']],
      ],
    ],
    [
      'a local call starts as a local activity',
      replyOf([{ ...PURE, local: true }]),
      [[REPLIED, ['schedule locally 2']]],
    ],
    [
      'an approved call starts after its update is answered and shown',
      replyOf([ASK]),
      [
        [REPLIED, OPENED],
        [[decide('approved')], [...TAKEN, ...CLOSED, 'cancel timer 1', 'schedule call-1.1-0']],
        [[done(2)], ['schedule think-2']],
      ],
    ],
    [
      'a denial and the end of another call in one task',
      replyOf([ASK, PURE]),
      [
        [REPLIED, ['schedule call-1.2-0', ...OPENED]],
        [
          [decide('denied'), done(2, '1.2')],
          [...TAKEN, ...CLOSED, 'cancel timer 1', 'schedule think-2'],
        ],
      ],
    ],
    [
      'a refused decision changes nothing',
      replyOf([ASK, PURE]),
      [
        [REPLIED, ['schedule call-1.2-0', ...OPENED]],
        [[done(2, '1.2'), decide('denied', '1.9')], ['reject update']],
        [[decide('denied')], [...TAKEN, ...CLOSED, 'cancel timer 1', 'schedule think-2']],
      ],
    ],
    [
      'a decision by signal is published with its verdict',
      replyOf([ASK]),
      [
        [REPLIED, OPENED],
        [[signal('denied')], [...CLOSED, 'memo verdicts', 'cancel timer 1', 'schedule think-2']],
      ],
    ],
    [
      'a signal that comes while the model is asked is published between the steps',
      replyOf([PURE]),
      [
        [REPLIED, ['schedule call-1.1-0']],
        [[done(2)], ['schedule think-2']],
        [[signal('denied')], ['memo verdicts']],
        [[jobs.completed(3, ANSWER)], ['search attributes', 'completeWorkflowExecution']],
      ],
    ],
    [
      'a request expires by its timer',
      replyOf([ASK]),
      [
        [REPLIED, OPENED],
        [[jobs.fired(1)], [...CLOSED_BY_ITSELF, 'schedule think-2'], 60_000],
      ],
    ],
    [
      'a timer that fires early is set again',
      replyOf([ASK]),
      [
        [REPLIED, OPENED],
        [[jobs.fired(1)], ['start timer 2'], 59_000],
        [[jobs.fired(2)], [...CLOSED_BY_ITSELF, 'schedule think-2'], 1000],
      ],
    ],
    [
      'the timer follows the earliest deadline that is left',
      replyOf([ASK, { ...ASK, expiresMs: 90_000 }]),
      [
        [REPLIED, OPENED],
        [[decide('denied')], [...TAKEN, 'start timer 2', ...CLOSED, 'cancel timer 1']],
        [[jobs.fired(2)], [...CLOSED_BY_ITSELF, 'schedule think-2'], 90_000],
      ],
    ],
    [
      'a cancelled turn withdraws its request and ends',
      replyOf([ASK]),
      [
        [REPLIED, OPENED],
        [
          [jobs.cancel()],
          [...CLOSED_BY_ITSELF, 'cancel timer 1', 'search attributes', 'cancelWorkflowExecution'],
        ],
      ],
    ],
    [
      'a cancelled turn waits for the call that runs',
      replyOf([UNSAFE, ASK]),
      [
        [REPLIED, ['schedule call-1.1-0', ...OPENED]],
        [[jobs.cancel()], ['cancel activity 2', ...CLOSED_BY_ITSELF, 'cancel timer 1']],
        [[done(2)], ['search attributes', 'cancelWorkflowExecution']],
      ],
    ],
    [
      'a lost unsafe call is verified; a person is first and runs it again',
      replyOf([UNSAFE]),
      [
        [REPLIED, ['schedule call-1.1-0']],
        [[lost(2)], ['schedule verify-1.1-0', 'memo open', 'search attributes']],
        [[resolve('run-again')], [...TAKEN, ...CLOSED, 'cancel activity 3', 'schedule call-1.1-1']],
        [[done(4)], ['schedule think-2']],
      ],
    ],
    [
      'a lost unsafe call whose effect is found ends with that',
      replyOf([UNSAFE]),
      [
        [REPLIED, ['schedule call-1.1-0']],
        [[lost(2)], ['schedule verify-1.1-0', 'memo open', 'search attributes']],
        [
          [jobs.completed(3, { outcome: 'happened', result: result('1.1') })],
          [...CLOSED_BY_ITSELF, 'schedule think-2'],
        ],
      ],
    ],
    [
      'an answer of verify that cannot be read is asked for again, twice, then a person is asked alone',
      replyOf([UNSAFE]),
      [
        [REPLIED, ['schedule call-1.1-0']],
        [[lost(2)], ['schedule verify-1.1-0', 'memo open', 'search attributes']],
        [[jobs.completed(3, 'yes')], ['schedule verify-1.1-0-again-1']],
        [[jobs.completed(4, 'yes')], ['schedule verify-1.1-0-again-2']],
        [[jobs.completed(5, 'yes')], []],
        [[resolve('did-not')], [...TAKEN, ...CLOSED, 'schedule think-2']],
      ],
    ],
    [
      'a call whose worker lacks its tool is scheduled again after a pause',
      replyOf([PURE]),
      [
        [REPLIED, ['schedule call-1.1-0']],
        [[jobs.completed(2, { notHere: 'no agent clerk' })], ['start timer 1']],
        [[jobs.fired(1)], ['schedule call-1.1-0'], 1000],
        [[done(3)], ['schedule think-2']],
      ],
    ],
    [
      'the model is asked again for a reply that cannot be read, twice, then the turn fails',
      thinkOutput([], { replyId: '' }),
      [
        [REPLIED, ['schedule think-1-again-1']],
        [[jobs.completed(2, 'not a reply')], ['schedule think-1-again-2']],
        [[jobs.completed(3, null)], ['search attributes', 'failWorkflowExecution']],
      ],
    ],
    [
      'the last allowed step ends it',
      replyOf([PURE], { maxSteps: 1 }),
      [
        [REPLIED, ['schedule call-1.1-0']],
        [[done(2)], ['search attributes', 'completeWorkflowExecution']],
      ],
    ],
  ])('%s', async (_, reply, tasks) => {
    await play(reply, tasks);
  });
});

/** What ends a workflow: the result, the type of its failure, or what the next run is given. */
function endOf(commands: readonly Command[]): unknown {
  const last = commands.at(-1);
  const failure = last?.failWorkflowExecution?.failure;
  if (failure != null) return failure.applicationFailureInfo?.type;
  if (last?.continueAsNewWorkflowExecution)
    return valueIn(last.continueAsNewWorkflowExecution.arguments?.[0]);
  return valueIn(last?.completeWorkflowExecution?.result);
}

describe('a turn that cannot begin', () => {
  it.each<[string, unknown, WorkflowStart, string]>([
    ['nothing', null, {}, FAILURES.turn],
    ['a text', 'pay the bill', {}, FAILURES.turn],
    ['an agent without a prompt', { agent: 'clerk' }, {}, FAILURES.turn],
    ['a transcript that is not one', { ...INPUT, carried: { transcript: [1] } }, {}, FAILURES.turn],
    ['a workflow retry policy', INPUT, { info: { retryPolicy: { maximumAttempts: 3 } } }, FAILURES.turn],
  ])('fails at once: %s', async (_, input, more, type) => {
    expect(endOf((await start(input, more)).commands)).toBe(type);
  });
});

it.each([
  ['ends where no worker could read its input', false],
  ['fails its task, and so waits, where a worker with the right keys could', true],
])('%s', async (_, waits) => {
  const sealed = noteUnreadable({ ...INPUT }, { why: 'no key k1', waits });
  const started = WorkflowUnderTest.start(() => agentTurn(sealed));
  if (waits) await expect(started).rejects.toThrow('cannot be read: no key k1');
  else expect(endOf((await started).commands)).toBe(FAILURES.turn);
});

describe('a turn ends', () => {
  it('with its answer and what it counted', async () => {
    const { workflow } = await start();
    const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
    await workflow.task([jobs.completed(1, { ...replyOf([PURE, ASK]), usage })]);
    await workflow.task([done(2), decide('denied', '1.2')]);
    const commands = await workflow.task([jobs.completed(3, { ...ANSWER, usage })]);
    expect(endOf(commands)).toEqual({
      status: 'answered',
      answer: 'paid',
      steps: 2,
      counts: { calls: 2, failed: 1, requests: 1, denied: 1, modified: 0, expired: 0, inDoubt: 0 },
      usage: { inputTokens: 6, outputTokens: 4, totalTokens: 10 },
      spent: { tokens: 10, steps: 2, time: 0 },
    });
  });

  it('as failed, with the words of the model, where the model failed for good', async () => {
    const { workflow } = await start();
    const commands = await workflow.task([
      failed(1, { message: '401: no such key', applicationFailureInfo: {} }),
    ]);
    expect(lines(commands)).toEqual(['search attributes', 'failWorkflowExecution']);
    expect(endOf(commands)).toBe(FAILURES.model);
    expect(commands.at(-1)?.failWorkflowExecution?.failure?.message).toBe('401: no such key');
  });

  it('as cancelled, while the model is asked', async () => {
    const { workflow } = await start();
    expect(lines(await workflow.task([jobs.cancel()]))).toEqual(['cancel activity 1']);
    expect(lines(await workflow.task([jobs.cancelled(1)]))).toEqual([
      'search attributes',
      'cancelWorkflowExecution',
    ]);
  });

  it('as failed, where words alone fill the transcript', async () => {
    const { commands } = await start({ ...INPUT, prompt: 'x'.repeat(1_600_000) });
    expect(endOf(commands)).toBe(FAILURES.turn);
  });
});

it('goes on as a new run between two steps, with all that the next one needs', async () => {
  const { workflow } = await start(INPUT, { info: { continueAsNewSuggested: true } });
  await workflow.task([jobs.completed(1, replyOf([ASK]))]);
  await workflow.task([decide('approved')]);
  const commands = await workflow.task([done(2)]);
  expect(endOf(commands)).toMatchObject({
    agent: 'clerk',
    prompt: '',
    carried: {
      step: 1,
      transcript: [{ kind: 'words' }, { kind: 'reply' }, { kind: 'result' }],
      results: [{ callId: '1.1', success: true }],
      spent: [[expect.any(String), { verdict: { accepted: true, callId: '1.1' } }]],
      counts: { calls: 1, requests: 1 },
    },
  });
});

it('passes its memo on to the next run, with the verdicts on signals and nothing that waits', async () => {
  const { workflow } = await start(INPUT, { info: { continueAsNewSuggested: true } });
  await workflow.task([jobs.completed(1, replyOf([ASK]))]);
  await workflow.task([signal('approved')]);
  const commands = await workflow.task([done(2)]);
  const { memo } = commands.at(-1)?.continueAsNewWorkflowExecution ?? {};
  expect(valueIn(memo?.['verdicts'])).toMatchObject([{ callId: '1.1', verdict: 'accepted' }]);
  expect(memo).not.toHaveProperty('open');
});

it('leaves words to its session that do not fit its next run', async () => {
  const { workflow } = await start(INPUT, { info: { continueAsNewSuggested: true } });
  await workflow.task([jobs.completed(1, replyOf([UNSAFE]))]);
  const words = { messageId: 'm1', text: '.'.repeat(700_000) };
  await workflow.task([jobs.signal(SIGNALS.words, words)]);
  const large = result('1.1', { content: 'x'.repeat(1_400_000) });
  const commands = await workflow.task([jobs.completed(2, { result: large, contentDigest: '0'.repeat(64) })]);
  expect(lines(commands).at(-1)).toBe('continueAsNewWorkflowExecution');
  expect(endOf(commands)).not.toHaveProperty('carried.words');
  expect(JSON.stringify(endOf(commands)).length).toBeLessThan(LIMITS.movedBytes);
});

it('does not go on as a new run where it was cancelled meanwhile', async () => {
  const { workflow } = await start(INPUT, { info: { continueAsNewSuggested: true } });
  await workflow.task([jobs.completed(1, replyOf([UNSAFE]))]);
  await workflow.task([jobs.cancel()]);
  expect(lines(await workflow.task([done(2)])).at(-1)).toBe('cancelWorkflowExecution');
});

it('sends the texts of results along only where they fit its next run', async () => {
  const calls = Array.from({ length: LIMITS.callsPerStep }, () => ASK);
  const { workflow } = await start(
    { ...INPUT, prompt: 'x'.repeat(950_000) },
    { info: { continueAsNewSuggested: true } },
  );
  await workflow.task([jobs.completed(1, replyOf(calls))]);
  const denials = calls.map((_, n) => {
    const said = { callId: `1.${n + 1}`, decision: 'denied', approver: 'ann', reason: '"'.repeat(4000) };
    return jobs.update(UPDATES.decide, said, `u${n}`);
  });
  const commands = await workflow.task(denials);
  expect(lines(commands).at(-1)).toBe('continueAsNewWorkflowExecution');
  expect(endOf(commands)).not.toHaveProperty('carried.results.0.text');
  expect(JSON.stringify(endOf(commands)).length).toBeLessThan(LIMITS.movedBytes);
});

describe('a fork', () => {
  const fork = (world: 'dry' | 'live', given: ThinkOutput) => ({ of: 'turn-0', from: '1.1', world, given });

  it.each<[string, 'dry' | 'live', CallShape[], string[]]>([
    ['records calls instead of running them', 'dry', [ASK, UNSAFE], ['schedule think-2']],
    ['runs what changes nothing', 'dry', [PURE, ASK], ['schedule call-1.1-0']],
    ['runs calls for real in a live world', 'live', [UNSAFE], ['schedule call-1.1-0']],
    ['asks in a live world', 'live', [ASK], OPENED],
  ])('begins with the step it is given and %s', async (_, world, shapes, commands) => {
    const { commands: first } = await start({ ...INPUT, fork: fork(world, replyOf(shapes)) });
    expect(lines(first)).toEqual(commands);
  });
});

describe('a turn that came along from another build', () => {
  const prepared = (seq: number, more: CallShape = {}): Job =>
    jobs.completed(seq, { call: validCall({ ...ASK, ...more }), schema: PAY_SCHEMA });
  const move = jobs.update(UPDATES.move, undefined);

  /** What its next run is started with. */
  async function moved(): Promise<unknown> {
    const { workflow } = await start();
    await workflow.task([jobs.completed(1, replyOf([ASK], { text: 'I pay.' }))]);
    const commands = await workflow.task([move]);
    expect(lines(commands)).toEqual([...TAKEN, 'continueAsNewWorkflowExecution']);
    const next = commands.at(-1)?.continueAsNewWorkflowExecution;
    expect(next?.initialVersioningBehavior).toBe(AUTO_UPGRADE);
    endWorkflow();
    return valueIn(next?.arguments?.[0]);
  }

  it.each<[string, Task[]]>([
    [
      'prepares its call anew, and nothing runs before a decision',
      [
        [[prepared(1)], ['start timer 1', 'memo open', 'search attributes']],
        [[decide('approved')], [...TAKEN, ...CLOSED, 'cancel timer 1', 'schedule call-1.1-0']],
      ],
    ],
    ['asks also where a new policy would let it run', [[[prepared(1, UNSAFE)], OPENED]]],
    [
      'judges a decision that came before the request',
      [
        [[decide('approved')], ['accept update']],
        [[prepared(1)], ['complete update', ...CLOSED, 'schedule call-1.1-0']],
      ],
    ],
    [
      'answers what came before it was cancelled',
      [
        [[decide('approved')], ['accept update']],
        [[jobs.cancel()], ['cancel activity 1']],
        [[jobs.cancelled(1)], ['reject update', ...CLOSED, 'search attributes', 'cancelWorkflowExecution']],
      ],
    ],
    ['does not move before its request is there', [[[move], ['reject update']]]],
  ])('%s', async (_case, tasks) => {
    const { workflow, commands } = await start(await moved());
    expect(lines(commands)).toEqual(['schedule prepare-1.1']);
    for (const [come, given, later] of tasks) expect(lines(await workflow.task(come, later))).toEqual(given);
  });

  it('answers what came before the request first, also where an interceptor is slow', async () => {
    const inbound: WorkflowInboundCallsInterceptor = {
      async handleUpdate(input, next) {
        const answer = await next(input);
        for (let promises = 0; promises < 50; promises++) await Promise.resolve();
        return answer;
      },
    };
    const { workflow } = await start(await moved(), { inbound });
    await workflow.task([decide('approved')]);
    const [first] = lines(await workflow.task([prepared(1)]));
    expect(first).toBe('complete update');
  });

  it('stays where a decision comes first', async () => {
    const { workflow } = await start();
    await workflow.task([jobs.completed(1, replyOf([ASK]))]);
    const both = lines(await workflow.task([decide('approved'), move]));
    expect(both).not.toContain('continueAsNewWorkflowExecution');
    expect(both).toContain('schedule call-1.1-0');
    expect(lines(await workflow.task([done(2)]))).toContain('schedule think-2');
  });
});
