import { temporal } from '@temporalio/proto';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { onCall, operator } from '../support/operator';
import { scriptBook } from '../support/script-book';
import { thinkOutput } from '../history/script';
import { validCall } from '../support/calls';
import { decide, eventsOf, send, transcriptOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const stays = (_: unknown, { signal }: { signal: AbortSignal }): Promise<string> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'), { once: true }));
let fixture: Fixture;
let slow: Fixture;

beforeAll(async () => {
  const common = { instructions: 'do', model: book.model };
  const tools = [
    recordTool(
      effects,
      { name: 'pay', safety: 'dangerous', verify: () => ({ outcome: 'cannot_tell' }) },
      // Its end would settle the doubt.
      () => new Promise(() => undefined),
    ),
    recordTool(effects, { name: 'look' }, stays),
    recordTool(effects, {
      name: 'odd',
      retry: { maximumAttempts: 3, initialInterval: '2s', maximumInterval: '1s' },
    }),
  ];
  fixture = await startFixture({ agents: [defineAgent({ ...common, name: 'forged', tools })] });
  const slept = { id: 'sleeper', generate: () => new Promise<never>(() => {}) };
  slow = await startFixture({ agents: [defineAgent({ ...common, name: 'slow', model: slept, tools: [] })] });
});

/** The server takes the end of a turn back, and gives its task again, when a message came meanwhile. */
const TAKEN_BACK = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;

const failedTasks = async (handle: TurnHandle): Promise<number> =>
  (await eventsOf(handle)).filter(({ workflowTaskFailedEventAttributes: failed }) =>
    failed ? failed.cause !== TAKEN_BACK : false,
  ).length;

const calling = async (tool: 'pay' | 'look', tag: string): Promise<TurnHandle> => {
  const handle = await fixture.start('forged', book.add({ toolCalls: [{ name: tool, arguments: { tag } }] }));
  if (tool === 'pay') {
    await waitFor(handle, '1.1', 'request');
    await decide(handle, { callId: '1.1', decision: 'approved' });
  }
  await until('the call', async () => (await effects.lines(tag)).length > 0);
  return handle;
};

const forgedCalls = [
  'null',
  '"done"',
  '5',
  '[]',
  '{"result":null}',
  '{"result":{}}',
  '{"result":{"success":true,"content":7}}',
  '{"inDoubt":{}}',
  '{"inDoubt":null}',
];

test.each(forgedCalls)('an unsafe call that an operator completed with %s is in doubt', async (result) => {
  const handle = await calling('pay', `forged pay ${result}`);
  await onCall(handle, 'complete', '--result', result);
  await waitFor(handle, '1.1', 'in_doubt');
  expect(await send(handle, 'resolve', { callId: '1.1', resolution: 'happened' })).toMatchObject({
    accepted: true,
  });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await failedTasks(handle)).toBe(0);
});

test.each(forgedCalls)(
  'the model reads that nobody can read %s as the result of a pure call',
  async (result) => {
    const handle = await calling('look', `forged look ${result}`);
    await onCall(handle, 'complete', '--result', result);
    expect(await handle.result()).toMatchObject({ status: 'answered' });
    const told = JSON.stringify(await transcriptOf(handle));
    expect(told).toContain(result.startsWith('{"inDoubt') ? 'annot be read' : 'cannot be read');
    expect(await failedTasks(handle)).toBe(0);
  },
);

/** A reply that fits in form, with one call that the server would not take. */
const unfit = (change: object): string =>
  JSON.stringify(thinkOutput([{ ...validCall({ kind: 'run' }), ...change }]));
const onQueue = (taskQueue: string): string =>
  unfit({ settings: { ...validCall({ kind: 'run' }).settings, taskQueue } });

const forgedReplies = [
  'null',
  '{}',
  '"x"',
  '{"calls":null}',
  '{"calls":[{"kind":"run"}]}',
  '{"replyId":"r","text":"t","calls":[{"kind":"run","callId":"1.1","id":"x","tool":"look"}],"schemas":{},"model":"m","finishReason":"stop","order":"lane","maxSteps":3}',
  unfit({ tool: 'é'.repeat(501) }),
  unfit({ tool: '\ud800' }),
  onQueue('é'.repeat(501)),
  onQueue('\ud800'),
  onQueue('/_sys/x'),
];

test.each(forgedReplies)(
  'a model that an operator answered for with %s is asked again, then the turn fails',
  async (result) => {
    const handle = await slow.start('slow', 'go');
    for (const id of ['think-1', 'think-1-again-1', 'think-1-again-2']) {
      await until(id, async () => {
        const { raw } = await handle.describe();
        return raw.pendingActivities?.some(({ activityId, state }) => activityId === id && state === 2);
      });
      await operator(handle, 'activity', 'complete', '--activity-id', id, '--result', result);
    }
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'countersign.model', message: expect.stringContaining('could not be read, 3 times') },
    });
    expect(await failedTasks(handle)).toBe(0);
  },
);

test.each([
  [null],
  [{}],
  [5],
  ['x'],
  [{ agent: 'forged', prompt: 'x', carried: {} }],
  [{ agent: 1, prompt: 2 }],
])('a workflow that is started with %j fails at once', async (input) => {
  const handle = await fixture.client.workflow.start('agentTurn', {
    args: [input],
    taskQueue: fixture.taskQueue,
    workflowId: `forged-${Math.random()}`,
  });
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'countersign.turn' } });
});

test('the transcript is given without an argument, and with any', async () => {
  const handle = await calling('look', 'query');
  for (const args of [[], [null], [{ from: 'x' }], [{ from: 1e9 }], ['x']])
    expect(await handle.query('transcript', ...args)).toMatchObject({ entries: expect.any(Array) });
  await handle.terminate();
});

test('a tool whose waits between attempts get shorter runs all the same', async () => {
  const handle = await fixture.start(
    'forged',
    book.add({ toolCalls: [{ name: 'odd', arguments: { tag: 'odd' } }] }, { text: 'done' }),
  );
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 1, failed: 0 } });
  expect(await failedTasks(handle)).toBe(0);
});
