import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { connect, type Countersign, type ResetPlan } from '../../src/client';
import type { DecisionMade, TurnEvent } from '../../src/history/events';
import { turnEventsOfJson } from '../../src/history/exported';
import { denyNext, waitForEnd, waitForRequest } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import type { Tool } from '../../src/tools/types';
import { createWorkspaceTools } from '../../src/tools/workspace';
import { runCli } from '../cli/run-cli';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetRun, resetTurn } from '../support/operator';
import { askedAgain, current, lastTask, laterTask, runOf, running, taskBefore } from '../support/resets';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress, testBundle } from '../support/server';
import {
  decide,
  openOf,
  resolve,
  scheduledInputs,
  signalDecision,
  verdictsOf,
  waitFor,
} from '../support/turns';
import { until } from '../support/until';

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
  const first = await fixture.addHere();
  const handle = await paid(fixture);
  await first.stop();
  await resetTurn(handle, '--event-id', await taskBefore(handle, 'pay'), ...reapply);
  await fixture.addHere(fixture.otherMachine());
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'happened', reason: 'seen' });
  expect(await finish(handle, '2.1')).toMatchObject({ status: 'answered', counts: { inDoubt: 1 } });
  expect(await fixture.effects('t')).toHaveLength(1);
});

test.concurrent(
  'reset to before a call that ran, on its own machine: the journal knows its result',
  async () => {
    const fixture = await startFixture();
    await fixture.addHere();
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
  await fixture.addHere();
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
    await fixture.addHere();
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

test.concurrent(
  'reset while the call runs: the second start is refused, the first one settles it',
  async () => {
    const fixture = await startFixture();
    await fixture.addHere();
    const handle = await running(fixture);
    await resetTurn(handle, '--type', 'LastWorkflowTask');
    await waitFor(handle, '1.1', 'in_doubt');
    await fixture.open('t');
    expect((await handle.result()).answer).toContain('stubborn did t');
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

test.concurrent.each(['save', 'peek'])(
  'the same decision, sent once more after our own reset, does not run %s: a person looks again',
  async (tool) => {
    const fixture = await startFixture();
    await fixture.addHere();
    await fixture.open('t');
    const handle = current(fixture, await fixture.startSteps(calls(`${tool}:t`)));
    const decision = { ...approval, decisionId: 'ann-1', reason: 'fine' };
    await waitFor(handle, '1.1');
    await decide(handle, decision);
    await handle.result();
    const client = await connect({ client: fixture.client });
    await client.reset(await client.planReset(handle.workflowId, '1.1'));
    await waitFor(handle, '1.1');
    expect(await decide(handle, decision)).toMatchObject({ accepted: true });
    await askedAgain(handle, '1.1');
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await decide(handle, decision)).toMatchObject({ accepted: false, code: 'stale_args' });
    expect(await decide(handle, { ...decision, decisionId: 'ann-2' })).toMatchObject({ accepted: true });
    await handle.result();
    const effects = await fixture.effects('t');
    expect(effects).toHaveLength(2);
    expect(new Set(effects.map(({ key }) => key)).size).toBe(1);
    const told = (await client.timeline(handle.workflowId)).flatMap((event) =>
      event.type === 'decision_void' || event.type === 'call_ended' || event.type === 'request_opened'
        ? [event.type]
        : [],
    );
    expect(told).toEqual(['request_opened', 'decision_void', 'request_opened', 'call_ended']);
  },
);

test.concurrent(
  'a decision that a reset applies again, or inherits, does not run an idempotent call',
  async () => {
    const fixture = await startFixture();
    await fixture.addHere();
    await fixture.open('t');
    const handle = current(fixture, await fixture.startSteps(calls('work:first', 'save:t', 'pay:later')));
    const { workflowId } = handle;
    await waitFor(handle, '1.2');
    await signalDecision(handle, { ...approval, callId: '1.2' });
    await until('the decision to be taken', async () => (await openOf(handle))?.count === 1);
    const taking = await lastTask(handle);
    const inherited = await laterTask(handle);
    const runId = await runOf(handle);
    for (const eventId of [taking, inherited]) {
      await resetRun(fixture.client, { workflowId, runId, eventId });
      await waitFor(handle, '1.1', 'in_doubt');
      await resolve(handle, { callId: '1.1', resolution: 'happened' });
      await askedAgain(handle, '1.2');
      expect(await fixture.effects('t')).toHaveLength(0);
    }
    await handle.terminate();
  },
);

describe('a turn that waits, reset twice to the same place', () => {
  /** A turn with one request, one task after it was asked, and no worker. */
  const waiting = async (fixture: Fixture, call: string) => {
    const worker = await fixture.addHere();
    const handle = current(fixture, await fixture.startSteps(calls(call)));
    await waitFor(handle, '1.1');
    const eventId = await laterTask(handle);
    await worker.stop();
    return { handle, reset: ['--run-id', await runOf(handle), '--event-id', String(eventId)] };
  };

  test.concurrent('a decision that names the run it was made in starts nothing in another one', async () => {
    const fixture = await startFixture();
    await fixture.open('t');
    const { handle, reset } = await waiting(fixture, 'pay:t');
    const approve = async (runId: string, decisionId: string) =>
      decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann', decisionId, runId });
    await resetTurn(handle, ...reset);
    const second = await fixture.addHere(fixture.otherMachine());
    await waitFor(handle, '1.1');
    const { runId } = await handle.describe();
    await approve(runId, 'ann-1');
    await handle.result();
    await second.stop();
    await resetTurn(handle, ...reset);
    await fixture.addHere(fixture.otherMachine());
    await waitFor(handle, '1.1');
    await approve(runId, 'ann-1');
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, { callId: '1.1', resolution: 'happened' });
    await handle.result();
    expect(await fixture.effects('t')).toHaveLength(1);
  });

  test.concurrent.each(['pay', 'save'])(
    '%s: an approval that was refused does not stand for an edit that the reset applied again',
    async (tool) => {
      const fixture = await startFixture();
      for (const tag of ['t', 'edited']) await fixture.open(tag);
      const { handle, reset } = await waiting(fixture, `${tool}:t`);
      const edit = { callId: '1.1', decision: 'modified', arguments: { tag: 'edited' }, approver: 'ann' };
      await signalDecision(handle, edit);
      await resetTurn(handle, ...reset);
      await signalDecision(handle, { callId: '1.1', decision: 'approved', approver: 'bob' });
      await fixture.addHere(fixture.otherMachine());
      await until('a person to be asked', async () =>
        (await openOf(handle))?.items.some(({ kind, note }) => kind === 'in_doubt' || note !== undefined),
      );
      for (const tag of ['t', 'edited']) expect(await fixture.effects(tag)).toHaveLength(0);
    },
  );
});

describe('our own reset, planned and shown first', () => {
  const PAYMENT = { callId: '1.4', decision: 'approved', approver: 'ann', decisionId: 'ann-1' } as const;

  /** A turn of every effect whose payment was approved; it ended with one more step. */
  const paid = async (fixture: Fixture, how: 'update' | 'signal' = 'update'): Promise<TurnHandle> => {
    await fixture.open('t');
    const handle = current(
      fixture,
      await fixture.startSteps(calls('look:t', 'put:t', 'note:t', 'pay:t'), calls('note:later')),
    );
    await waitFor(handle, '1.4');
    await fixture.effectsOf('t', 3);
    if (how === 'update') await decide(handle, PAYMENT);
    else await signalDecision(handle, PAYMENT);
    await handle.result();
    return handle;
  };

  const clientOf = ({ client }: Fixture): Promise<Countersign> => connect({ client });

  const resetTo = async (client: Countersign, handle: TurnHandle, before: string): Promise<ResetPlan> => {
    const plan = await client.planReset(handle.workflowId, before);
    await client.reset(plan, { reason: 'again', approver: 'bob' });
    return plan;
  };

  const told = ({ calls: all }: ResetPlan): string[] =>
    all.map(({ callId, outcome, ran }) => `${callId} ${outcome} ${ran}`);

  const PLANNED = [
    '1.1 runs_again true',
    '1.2 runs_again true',
    '1.3 in_doubt true',
    '1.4 asked_again true',
    '2.1 forgotten true',
  ];

  test.concurrent.each(['update', 'signal'] as const)(
    'before a payment that was approved by %s, on another machine: as planned, nothing unsafe twice',
    async (how) => {
      const fixture = await startFixture();
      const first = await fixture.addHere();
      const handle = await paid(fixture, how);
      await first.stop();
      const client = await clientOf(fixture);
      expect(told(await resetTo(client, handle, '1.4'))).toEqual(PLANNED);
      await fixture.addHere(fixture.otherMachine());
      await waitFor(handle, '1.3', 'in_doubt');
      await resolve(handle, { callId: '1.3', resolution: 'happened' });
      expect((await openOf(handle))?.items).toMatchObject([{ callId: '1.4', kind: 'request' }]);
      await decide(handle, { callId: '1.4', decision: 'approved', approver: 'cleo' });
      await waitFor(handle, '1.4', 'in_doubt');
      await resolve(handle, { callId: '1.4', resolution: 'happened' });
      expect(await handle.result()).toMatchObject({ status: 'answered', counts: { inDoubt: 2 } });
      const effects = await fixture.effects('t');
      expect(effects.map(({ tool }) => tool).sort()).toEqual(['look', 'look', 'note', 'pay', 'put', 'put']);
      expect(new Set(effects.filter(({ tool }) => tool === 'put').map(({ key }) => key)).size).toBe(1);
      expect(await scheduledInputs(handle, 'pay')).toMatchObject([{ decision: { approver: 'cleo' } }]);
    },
  );

  test.concurrent(
    'on its own machine the journal knows what ran, and gives it for the same arguments only',
    async () => {
      const fixture = await startFixture();
      await fixture.addHere();
      const handle = await paid(fixture);
      const client = await clientOf(fixture);
      await resetTo(client, handle, '1.4');
      await waitForRequest(client, handle.workflowId, { tool: 'pay' });
      await decide(handle, { callId: '1.4', decision: 'approved' });
      expect((await handle.result()).answer).toContain('pay did t');
      await resetTo(client, handle, '1.4');
      await waitForRequest(client, handle.workflowId, { tool: 'pay' });
      await fixture.open('other');
      await decide(handle, { callId: '1.4', decision: 'modified', arguments: { tag: 'other' } });
      await waitFor(handle, '1.4', 'in_doubt');
      expect(await fixture.effects('other')).toEqual([]);
      await resolve(handle, { callId: '1.4', resolution: 'run-again' });
      expect((await handle.result()).answer).toContain('pay did other');
      expect((await fixture.effects('t')).filter(({ tool }) => tool === 'pay')).toHaveLength(1);
    },
  );

  test.concurrent('a denial is taken back: the call waits again, and runs once it is approved', async () => {
    const fixture = await startFixture();
    await fixture.addHere();
    await fixture.open('t');
    const handle = current(fixture, await fixture.startSteps(calls('pay:t')));
    const client = await clientOf(fixture);
    await denyNext(client, handle.workflowId, { reason: 'no' });
    await waitForEnd(client, handle.workflowId);
    expect(told(await resetTo(client, handle, '1.1'))).toEqual(['1.1 asked_again false']);
    await waitForRequest(client, handle.workflowId);
    await decide(handle, { callId: '1.1', decision: 'approved' });
    const view = await waitForEnd(client, handle.workflowId);
    expect(view).toMatchObject({ status: 'answered', answer: expect.stringContaining('pay did t') });
    expect(view.calls[0]?.decisions.map(({ decision }) => decision)).toEqual(['approved']);
    const reasons = (await client.timeline(handle.workflowId)).flatMap((one) =>
      one.type === 'reset' ? [one.reason] : [],
    );
    expect(reasons).toEqual([expect.stringContaining('bob went back to before 1.1: again')]);
  });

  test.concurrent(
    'a cancelled turn goes on after a reset; its cancellation is not applied again',
    async () => {
      const fixture = await startFixture();
      await fixture.addHere();
      const handle = current(fixture, await fixture.startSteps(calls('pay:t')));
      const client = await clientOf(fixture);
      await waitForRequest(client, handle.workflowId);
      await client.cancel(handle.workflowId);
      expect((await waitForEnd(client, handle.workflowId)).status).toBe('cancelled');
      await resetTo(client, handle, '1.1');
      await denyNext(client, handle.workflowId);
      expect(await waitForEnd(client, handle.workflowId)).toMatchObject({
        status: 'answered',
        cancelRequested: false,
      });
    },
  );

  test.concurrent('a plan that is no longer true is refused, and so is what cannot be reset', async () => {
    const fixture = await startFixture();
    await fixture.addHere();
    const handle = await paid(fixture);
    const client = await clientOf(fixture);
    const { workflowId: turn } = handle;
    const plan = await client.planReset(turn, '2.1');
    expect(told(plan)).toEqual(['2.1 in_doubt true']);
    await client.reset(await client.planReset(turn, '1.4'));
    await expect(client.reset(plan)).rejects.toMatchObject({ code: 'refused' });
    await waitForRequest(client, turn, { tool: 'pay' });
    await expect(client.planReset(turn, '1.4')).rejects.toMatchObject({
      code: 'refused',
      message: 'there is nothing to reset: 1.4 waits for a decision as it is',
    });
    await expect(client.planReset(turn, '7.7')).rejects.toMatchObject({ code: 'not_found' });
    await expect(client.planReset('turn-nowhere', '1.1')).rejects.toMatchObject({ code: 'not_found' });
    await client.cancel(turn);
  });
});

describe('decisions that a reset applied again', () => {
  const directory = scratchDirectory();
  const agent = useAgent('reapplied', (effects) => [
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  ]);
  const pay = { toolCalls: [{ name: 'pay', arguments: { tag: 'a' } }] };

  const cli = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await runCli(args, {
      env: { TEMPORAL_ADDRESS: testAddress() },
      cwd: directory(),
    });
    expect(code === 0 ? '' : err).toBe('');
    return out;
  };

  /** A turn whose first call ann approved by update and bob by signal, reset to before both by Temporal's own command line. */
  const wasReset = async (): Promise<TurnHandle> => {
    const handle = await agent.start([pay, pay]);
    await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
    await signalDecision(handle, { callId: '1.1', decision: 'denied', approver: 'bob' });
    await waitFor(handle, '2.1');
    await until('the verdict on the signal', async () => (await verdictsOf(handle)).length === 1);
    await resetTurn(handle, '--event-id', await taskBefore(handle, 'pay'));
    return current(agent.fixture(), handle);
  };

  /** Denies what waits, and says of what is in doubt that it happened, until the turn ends. */
  const denyTheRest = async (handle: TurnHandle): Promise<void> => {
    await until('the end', async () => {
      for (const { callId, kind } of (await openOf(handle))?.items ?? [])
        if (kind === 'request') await decide(handle, { callId, decision: 'denied', approver: 'eve' });
        else await resolve(handle, { callId, resolution: 'happened', approver: 'eve' });
      return (await handle.describe()).status.name !== 'RUNNING';
    });
  };

  const auditOf = (file: string): unknown[] =>
    readFileSync(join(directory(), file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  const decisionsIn = (events: readonly TurnEvent[]): DecisionMade[] =>
    events.flatMap((event) => (event.type === 'decision' && event.callId === '1.1' ? [event] : []));

  test('a decision that a reset applied again is shown, with who reset the turn and when', async () => {
    const handle = await wasReset();
    const turn = handle.workflowId;
    const both = await until('both decisions', async () => {
      const found = decisionsIn(await agent.client().timeline(turn));
      return found.length >= 2 && found;
    });
    const reset = (await agent.client().timeline(turn)).find(({ type }) => type === 'reset');
    expect(reset).toMatchObject({ reason: expect.stringMatching(/^\S+: test$/) });
    const { eventId, at } = reset ?? {};
    const reapplied = expect.objectContaining({ eventId, at, reason: expect.stringContaining('test') });
    expect(both).toContainEqual(
      expect.objectContaining({ approver: 'ann', door: 'update', judgement: { accepted: true }, reapplied }),
    );
    expect(both).toContainEqual(expect.objectContaining({ approver: 'bob', door: 'signal', reapplied }));
    expect(await cli('show', turn)).toMatch(/approved by ann .*applied again by the reset \(\S+: test\)/);
    await cli('audit', 'keys', 'audit.key');
    await cli('audit', 'export', '--turn', turn, '--key', 'audit.key', '--out', 'audit.jsonl');
    expect(auditOf('audit.jsonl')).toContainEqual(
      expect.objectContaining({
        type: 'decision',
        door: 'update',
        verdict: 'accepted',
        reappliedBy: eventId,
      }),
    );
    await denyTheRest(handle);
    const json = historyToJSON(await handle.fetchHistory());
    // Ann's update and bob's signal came in one task, which a replay gives to the workflow in another order.
    const options = { workflowBundle: { codePath: testBundle() } };
    await expect(
      Worker.runReplayHistory(options, historyFromJSON(JSON.parse(json))),
    ).resolves.toBeUndefined();
    expect(decisionsIn(await turnEventsOfJson(json))).toEqual(
      decisionsIn(await agent.client().timeline(turn)),
    );
  });
});
