import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { optionalTsToMs } from '@temporalio/common/lib/time';
import { defineAgent } from '../../src/tools/define-agent';
import type { Tool } from '../../src/tools/types';
import { createWorkspaceTools } from '../../src/tools/workspace';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetTurn } from '../support/operator';
import { readBack, scriptBook } from '../support/script-book';
import {
  decide,
  eventsOf,
  openOf,
  resolve,
  scheduledInputs,
  signalDecision,
  verdictsOf,
  waitFor,
} from '../support/turns';
import { until } from '../support/until';

/** The current run of a turn; handles of a start follow the first one. */
const current = ({ client }: Fixture, { workflowId }: TurnHandle): TurnHandle =>
  client.workflow.getHandle(workflowId);

const approval = { callId: '1.1', decision: 'approved', approver: 'ann' } as const;

/** A turn that has paid and waits in its second step. */
const paid = async (fixture: Fixture): Promise<TurnHandle> => {
  await fixture.open('t');
  const handle = current(fixture, await fixture.startSteps(calls('pay:t'), calls('pay:later')));
  await waitFor(handle, '1.1');
  await signalDecision(handle, approval);
  await waitFor(handle, '2.1');
  return handle;
};

/** The workflow task that scheduled a call: resetting to its completion takes the call back, and keeps its request. */
const taskBefore = async (handle: TurnHandle, tool: string): Promise<string> => {
  const events = await eventsOf(handle);
  const scheduled = events.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === tool,
  );
  return String(scheduled?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId);
};

/** Denies what a turn still waits for, so that it ends. */
const finish = async (handle: TurnHandle, callId: string) => {
  await waitFor(handle, callId);
  await decide(handle, { callId, decision: 'denied' });
  return handle.result();
};

test.concurrent.each([
  ['signals re-applied', []],
  ['nothing re-applied', ['--reapply-exclude', 'All']],
])('reset to before a call that ran, on another machine, %s: in doubt, never again', async (_, reapply) => {
  const fixture = await startFixture();
  const first = await fixture.addProcess();
  const handle = await paid(fixture);
  await first.kill();
  await resetTurn(handle, '--event-id', await taskBefore(handle, 'pay'), ...reapply);
  await fixture.addProcess(fixture.otherMachine());
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'happened', reason: 'seen' });
  expect(await finish(handle, '2.1')).toMatchObject({ status: 'answered', counts: { inDoubt: 1 } });
  expect(await fixture.effects('t')).toHaveLength(1);
});

test.concurrent(
  'reset to before a call that ran, on its own machine: the journal knows its result',
  async () => {
    const fixture = await startFixture();
    await fixture.addProcess();
    const handle = await paid(fixture);
    await resetTurn(handle, '--event-id', await taskBefore(handle, 'pay'));
    const { answer, counts } = await finish(handle, '2.1');
    expect(answer).toContain('pay did t');
    expect(counts).toMatchObject({ inDoubt: 0 });
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

test.concurrent('an edit without a plan that ran before a reset is not made twice', async () => {
  const fixture = await startFixture();
  const file = join(fixture.directory, 'a.txt');
  await writeFile(file, 'a\n');
  const [edit] = createWorkspaceTools({ root: fixture.directory }).filter(({ name }) => name === 'edit_file');
  if (edit === undefined) throw new Error('no edit_file');
  const book = scriptBook();
  const tools = [Object.freeze<Tool>({ ...edit, safety: 'cautious' })];
  await fixture.addWorker(
    {},
    { agents: [defineAgent({ name: 'editor', instructions: 'do', model: book.model, tools })] },
  );
  const edits = [{ old_text: 'a', new_text: 'ab' }];
  const call = { name: 'edit_file', arguments: { path: 'a.txt', edits } };
  const handle = current(fixture, await fixture.start('editor', book.add({ toolCalls: [call] }, readBack)));
  await handle.result();
  expect(await readFile(file, 'utf8')).toBe('ab\n');
  await resetTurn(handle, '--event-id', await taskBefore(handle, 'edit_file'));
  const { answer } = await handle.result();
  expect(answer).toContain('An earlier attempt may have changed "a.txt"');
  expect(await readFile(file, 'utf8')).toBe('ab\n');
});

test.concurrent('a call that is asked anew has another key and needs a decision of its own', async () => {
  const fixture = await startFixture();
  await fixture.addProcess();
  const handle = await paid(fixture);
  const before = await scheduledInputs(handle, 'pay');
  await resetTurn(handle, '--type', 'FirstWorkflowTask');
  const open = await until('the request', async () => {
    const now = await openOf(handle);
    return now?.items[0]?.callId === '1.1' && now;
  });
  const verdict = await until(
    'the verdict on the re-applied signal',
    async () => (await verdictsOf(handle))[0],
  );
  expect(verdict).toMatchObject({ callId: '1.1', verdict: 'unknown_call' });
  expect(await fixture.effects('t')).toHaveLength(1);
  expect(before[0]?.['callKey']).not.toBe(`${open.key}:1.1`);
  const stale = { ...approval, callKey: String(before[0]?.['callKey']) };
  expect(await decide(handle, stale)).toMatchObject({ accepted: false });
  expect(await decide(handle, approval)).toMatchObject({ accepted: true });
  await finish(handle, '2.1');
  const keys = (await fixture.effects('t')).map(({ key }) => key);
  expect(new Set(keys).size).toBe(2);
});

test.concurrent(
  'an approval that a reset re-applies does not approve what the model now asks for',
  async () => {
    const fixture = await startFixture();
    await fixture.addProcess();
    const script = join(fixture.directory, 'script');
    await writeFile(script, JSON.stringify([calls('pay:t'), calls('pay:later')]));
    await fixture.open('t');
    const handle = current(fixture, await fixture.start('crash', script));
    await waitFor(handle, '1.1');
    await signalDecision(handle, approval);
    await waitFor(handle, '2.1');
    await writeFile(script, JSON.stringify([calls('pay:other')]));
    await resetTurn(handle, '--type', 'FirstWorkflowTask');
    await until('the other request', async () => (await openOf(handle))?.items[0]?.summary.includes('other'));
    await until('the verdict', async () => (await verdictsOf(handle))[0]?.verdict === 'unknown_call');
    await finish(handle, '1.1');
    expect(await fixture.effects('other')).toEqual([]);
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

/** How long the call that runs has beaten, as the server knows it. */
const beatenMs = async (handle: TurnHandle): Promise<number> => {
  const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
  const [start, beat] = [pending?.lastStartedTime, pending?.lastHeartbeatTime].map(optionalTsToMs);
  return (beat ?? 0) - (start ?? Infinity);
};

/** A turn whose call runs, with a workflow task after it: reset to that, the new run is given the same call again. */
const running = async (fixture: Fixture): Promise<TurnHandle> => {
  const handle = current(fixture, await fixture.startSteps(calls('stubborn:t')));
  await fixture.effectsOf('t', 1);
  await signalDecision(handle, { callId: 'any' });
  await until('a verdict', async () => (await verdictsOf(handle)).length > 0);
  await until('a second of the call', async () => (await beatenMs(handle)) >= 1000);
  return handle;
};

test.concurrent(
  'reset while the call runs: the second start is refused, the first one settles it',
  async () => {
    const fixture = await startFixture();
    await fixture.addProcess();
    const handle = await running(fixture);
    await resetTurn(handle, '--type', 'LastWorkflowTask');
    await waitFor(handle, '1.1', 'in_doubt');
    await fixture.open('t');
    expect((await handle.result()).answer).toContain('stubborn did t');
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

test.concurrent(
  'reset while the call runs, taken by another machine: the base run tells of the start',
  async () => {
    const fixture = await startFixture();
    const first = await fixture.addProcess();
    const handle = await running(fixture);
    await first.kill();
    await resetTurn(handle, '--type', 'LastWorkflowTask');
    await fixture.addProcess(fixture.otherMachine());
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, { callId: '1.1', resolution: 'did-not', reason: 'seen' });
    await handle.result();
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);
