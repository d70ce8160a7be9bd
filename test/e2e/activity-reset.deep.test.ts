import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent } from '../../src/tools/define-agent';
import { TransportError } from '../../src/tools/errors';
import type { Tool } from '../../src/tools/types';
import { createWorkspaceTools } from '../../src/tools/workspace';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { onCall } from '../support/operator';
import { readBack, scriptBook } from '../support/script-book';
import { resolve, waitFor } from '../support/turns';
import { until } from '../support/until';

/** A turn inside an unsafe call. */
const inside = async (fixture: Fixture): Promise<TurnHandle> => {
  const handle = await fixture.startSteps(calls('work:t'));
  await fixture.effectsOf('t', 1);
  return handle;
};

/** The call is in doubt, ran once, and ends as a person says. */
const expectDoubt = async (fixture: Fixture, handle: TurnHandle): Promise<void> => {
  await waitFor(handle, '1.1', 'in_doubt');
  expect(await fixture.effects('t')).toHaveLength(1);
  await resolve(handle, { callId: '1.1', resolution: 'did-not', reason: 'looked' });
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 1, inDoubt: 1 } });
  expect(await fixture.effects('t')).toHaveLength(1);
};

const REFRESH = ['--reset-attempts', '--reset-heartbeats'];

/** What an operator does to a call, one command after another. */
type Commands = readonly (readonly [verb: string, ...options: string[]])[];

const operate = async (handle: TurnHandle, commands: Commands): Promise<void> => {
  for (const [verb, ...options] of commands) await onCall(handle, verb, ...options);
};

const ON_RUNNING: [string, Commands][] = [
  ['reset', [['reset']]],
  ['reset, heartbeats too', [['reset', ...REFRESH]]],
  ['paused', [['pause']]],
  [
    'given more attempts and reset',
    [
      ['update-options', '--retry-maximum-attempts', '5'],
      ['reset', ...REFRESH],
    ],
  ],
];

test.concurrent.each(ON_RUNNING)(
  'an unsafe call that runs is %s: it stops and proves nothing, so a person is asked',
  async (_, commands) => {
    const fixture = await startFixture();
    await fixture.addHere();
    const handle = await inside(fixture);
    await operate(handle, commands);
    await until('the end of the call', async () => (await pendingOf(handle)) === undefined);
    await expectDoubt(fixture, handle);
  },
);

test.concurrent(
  'a command that runs is reset: it proves that it was stopped, nothing is run again',
  async () => {
    const fixture = await startFixture();
    await fixture.addHere();
    const handle = await fixture.startSteps(calls('group:t'));
    await fixture.groupOf('t');
    await operate(handle, [['reset']]);
    const { answer, counts } = await handle.result();
    expect(answer).toContain('it was stopped, and a part of its work may be done');
    expect(counts).toMatchObject({ calls: 1, failed: 1 });
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

/** The worker does not hear of the commands: it is frozen meanwhile, and then dead. */
const ON_DEAD: [string, Commands][] = [
  ['reset', [['reset']]],
  ['reset, heartbeats too', [['reset', ...REFRESH]]],
  ['paused and unpaused', [['pause'], ['unpause', ...REFRESH]]],
  ['given more attempts', [['update-options', '--retry-maximum-attempts', '5']]],
];

describe.each(['this machine', 'another machine'])('seen by %s', (where) => {
  test.concurrent.each(ON_DEAD)(
    'a call whose worker died is %s: in doubt, not started again',
    async (_, commands) => {
      const fixture = await startFixture();
      const worker = await fixture.addProcess();
      const handle = await inside(fixture);
      worker.signal('SIGSTOP');
      await worker.stopped();
      await operate(handle, commands);
      await worker.kill();
      await fixture.addHere(where === 'this machine' ? {} : fixture.otherMachine());
      await expectDoubt(fixture, handle);
    },
  );
});

const pendingOf = async (handle: TurnHandle) => {
  const { pendingActivities } = (await handle.describe()).raw;
  return pendingActivities?.find(({ activityId }) => activityId === 'call-1.1-0');
};

test.concurrent(
  'attempts raised, the second one waits, then reset: another machine still sees a start',
  async () => {
    const fixture = await startFixture();
    const worker = await fixture.addProcess();
    const handle = await inside(fixture);
    await onCall(handle, 'update-options', '--retry-maximum-attempts', '5');
    await worker.kill();
    await until('the second attempt', async () => ((await pendingOf(handle))?.attempt ?? 0) > 1);
    await onCall(handle, 'reset', ...REFRESH);
    await fixture.addHere(fixture.otherMachine());
    await expectDoubt(fixture, handle);
  },
);

/** An approved call that waits for a worker of its queue while an operator does something to it; then the worker comes. */
const beforeStart = async (fixture: Fixture, commands: Commands): Promise<TurnHandle> => {
  const callsQueue = `${fixture.taskQueue}-calls`;
  await fixture.addHere({ callsQueue, queues: [fixture.taskQueue] });
  const preparing = await fixture.addHere({ callsQueue, queues: [callsQueue] });
  await fixture.open('t');
  const handle = await fixture.startSteps(calls('pay:t'));
  await waitFor(handle, '1.1');
  await preparing.stop();
  await handle.executeUpdate('decide', { args: [{ callId: '1.1', decision: 'approved' }] });
  await until('the call to wait for a worker', () => pendingOf(handle));
  await operate(handle, commands);
  await fixture.addHere({ callsQueue, queues: [callsQueue] });
  return handle;
};

test.concurrent('a call that has not started and is given other options runs, once', async () => {
  const fixture = await startFixture();
  const handle = await beforeStart(fixture, [['update-options', '--retry-maximum-attempts', '5']]);
  expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0, inDoubt: 0 } });
  expect(await fixture.effects('t')).toHaveLength(1);
});

// The server then keeps nothing that tells it from one that had started: we ask.
test.concurrent.each([
  ['reset', [['reset', ...REFRESH]]],
  ['paused and unpaused', [['pause'], ['unpause', ...REFRESH]]],
] as [string, Commands][])(
  'a call that has not started and is %s runs when a person says so, once',
  async (_, commands) => {
    const fixture = await startFixture();
    const handle = await beforeStart(fixture, commands);
    await waitFor(handle, '1.1', 'in_doubt');
    expect(await fixture.effects('t')).toHaveLength(0);
    await resolve(handle, { callId: '1.1', resolution: 'run-again', reason: 'it never ran' });
    expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0 } });
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

/** The tool `edit_file` without a decision, so without a plan. The answer of its first attempt is lost after the edit. */
const editsAtOnce = (root: string, attempts: number[]): Tool => {
  const [edit] = createWorkspaceTools({ root }).filter(({ name }) => name === 'edit_file');
  if (edit === undefined) throw new Error('no edit_file');
  return Object.freeze<Tool>({
    ...edit,
    safety: 'cautious',
    retry: { ...edit.retry, initialIntervalMs: 600_000, maximumIntervalMs: 600_000 },
    handle: async (value, context) => {
      attempts.push(context.attempt);
      const answer = await edit.handle(value, context);
      if (attempts.length === 1) throw new TransportError('the answer is lost');
      return answer;
    },
  });
};

test.concurrent(
  'an edit without a plan whose answer was lost is reset: attempts count from 1 again, it is not made twice',
  async () => {
    const fixture = await startFixture();
    const file = join(fixture.directory, 'a.txt');
    writeFileSync(file, 'a\n');
    const book = scriptBook();
    const attempts: number[] = [];
    const tools = [editsAtOnce(fixture.directory, attempts)];
    const agents = [defineAgent({ name: 'editor', instructions: 'do', model: book.model, tools })];
    await fixture.addWorker({}, { agents });
    const edits = [{ old_text: 'a', new_text: 'ab' }];
    const call = { name: 'edit_file', arguments: { path: 'a.txt', edits } };
    const handle = await fixture.start('editor', book.add({ toolCalls: [call] }, readBack));
    await until('the second attempt', async () => ((await pendingOf(handle))?.attempt ?? 0) > 1);
    await operate(handle, [['reset', ...REFRESH]]);
    expect((await handle.result()).answer).toContain('An earlier attempt may have changed "a.txt"');
    expect(readFileSync(file, 'utf8')).toBe('ab\n');
    expect(attempts).toEqual([1, 1]);
  },
);
