import { MessageQueue } from '../../src/workflows/message-queue';

/** A workflow whose tasks come when the test says so. */
const workflow = { historyLength: 3, sleepers: new Array<() => void>(), random: (): number => 0 };

jest.mock('@temporalio/workflow', () => ({
  workflowInfo: () => ({ runId: 'run', historyLength: workflow.historyLength }),
  inWorkflowContext: () => true,
  CancellationScope: { nonCancellable: (body: () => unknown) => body() },
  sleep: () => new Promise<void>((resolve) => workflow.sleepers.push(resolve)),
  condition: () => Promise.resolve(),
}));

jest.mock('../../src/workflows/sdk-internals', () => ({
  randomOfRun: () => workflow.random,
  areMessagesIntercepted: () => false,
}));

/** The next workflow task begins: every timer has fired. */
async function nextTask(): Promise<void> {
  workflow.historyLength += 5;
  for (const wake of workflow.sleepers.splice(0)) wake();
  for (let turns = 0; turns < 5; turns++) await Promise.resolve();
}

/** Adds messages of these weights and says which are judged in the first task, the second, and so on. */
async function tasksOf(weights: readonly number[], spend = 0): Promise<number[][]> {
  const queue = new MessageQueue();
  let judged: number[] = [];
  const messageOf = (weight: number, index: number): Parameters<MessageQueue['add']>[0] => ({
    weight,
    judge: () => {
      judged.push(index);
      queue.spend(spend);
    },
  });
  workflow.historyLength += 5;
  for (const [index, weight] of weights.entries()) queue.add(messageOf(weight, index));
  const tasks = [judged];
  while (queue.isBehind) {
    judged = [];
    await nextTask();
    tasks.push(judged);
  }
  return tasks;
}

it.each<[string, number[], number, number[][]]>([
  ['few are judged as they come', [1, 1, 1], 0, [[0, 1, 2]]],
  ['what has no room waits for the next task', [1500, 1500, 1], 0, [[0], [1, 2]]],
  ['a light one does not overtake a heavy one', [2000, 1000, 1, 2000], 0, [[0], [1, 2], [3]]],
  ['one that is over the limit alone is judged alone', [9000, 9000], 0, [[0], [1]]],
  [
    'what their reading took counts, too',
    [1, 1, 1, 1, 1],
    1200,
    [
      [0, 1, 2],
      [3, 4],
    ],
  ],
])('%s', async (_, weights, spend, tasks) => {
  expect(await tasksOf(weights, spend)).toEqual(tasks);
});

it('judges ten thousand short messages in one task', async () => {
  const tasks = await tasksOf(Array.from({ length: 10_000 }, () => 0.24));
  expect(tasks.map((task) => task.length)).toEqual([10_000]);
});

it.each<[string, (queue: MessageQueue) => void]>([
  ['a signal', (queue) => queue.add({ weight: 1, judge: () => undefined })],
  ['an update', (queue) => void queue.answer(1, () => undefined)],
])('knows whether the task brought %s', async (_, send) => {
  const queue = new MessageQueue();
  await nextTask();
  const before = queue.hasMessages;
  send(queue);
  const meanwhile = queue.hasMessages;
  await nextTask();
  expect([before, meanwhile, queue.hasMessages]).toEqual([false, true, false]);
});

it('knows that a task answers what had no room before', async () => {
  const queue = new MessageQueue();
  workflow.historyLength += 5;
  let seen: boolean | undefined;
  for (const weight of [2500, 2500]) queue.add({ weight, judge: () => (seen = queue.hasMessages) });
  seen = undefined;
  await nextTask();
  expect(seen).toBe(true);
  expect(queue.hasMessages).toBe(true);
});

it('answers a sender in its turn, with what its judging throws', async () => {
  const queue = new MessageQueue();
  const order: string[] = [];
  workflow.historyLength += 5;
  queue.add({ weight: 2500, judge: () => order.push('first') });
  queue.add({ weight: 1, judge: () => order.push('second') });
  const answer = Promise.resolve(
    queue.answer(1, () => {
      order.push('third');
      throw new Error('refused');
    }),
  );
  const told = answer.catch((error: unknown) => error);
  expect(order).toEqual(['first']);
  await nextTask();
  expect(await told).toEqual(new Error('refused'));
  expect(order).toEqual(['first', 'second', 'third']);
});

it('keeps messages until what they are about is there, then judges them in their order', async () => {
  const queue = new MessageQueue();
  const order: string[] = [];
  queue.hold();
  workflow.historyLength += 5;
  queue.add({ weight: 1, judge: () => order.push('signal') });
  const answer = queue.answer(1, () => order.push('update'));
  await nextTask();
  expect(order).toEqual([]);
  expect([queue.isHeld, queue.isBehind]).toEqual([true, true]);
  queue.release();
  await answer;
  expect(order).toEqual(['signal', 'update']);
  expect([queue.isHeld, queue.isBehind]).toEqual([false, false]);
});

it('judges what was kept in later tasks where one has no room for all', async () => {
  const queue = new MessageQueue();
  const order: number[] = [];
  queue.hold();
  workflow.historyLength += 5;
  for (const n of [1, 2]) queue.add({ weight: 2000, judge: () => order.push(n) });
  queue.release();
  expect(order).toEqual([1]);
  await nextTask();
  expect(order).toEqual([1, 2]);
});

it('says once that the run was reset, before it judges a message, and which tasks came before', () => {
  const order: string[] = [];
  const queue = new MessageQueue(() => order.push('reset'));
  workflow.historyLength += 5;
  expect([queue.isBeforeReset(workflow.historyLength), queue.wasReset]).toEqual([false, false]);
  const before = workflow.historyLength;
  workflow.historyLength += 5;
  workflow.random = () => 0.5;
  queue.add({ weight: 1, judge: () => order.push('signal') });
  expect([queue.isBeforeReset(workflow.historyLength), queue.wasReset]).toEqual([true, true]);
  expect(queue.isBeforeReset(before)).toBe(true);
  workflow.historyLength += 5;
  expect([queue.isBeforeReset(workflow.historyLength), queue.wasReset]).toEqual([false, true]);
  expect(order).toEqual(['reset']);
});
