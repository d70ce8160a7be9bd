import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import type { DecisionMade, TurnEvent } from '../../src/history/events';
import { turnEventsOfJson } from '../../src/history/exported';
import { runCli } from '../cli/run-cli';
import { useAgent } from '../support/agent-fixture';
import { recordTool } from '../support/effects';
import type { TurnHandle } from '../support/fixture';
import { resetTurn } from '../support/operator';
import { scratchDirectory } from '../support/scratch';
import { testAddress, testBundle } from '../support/server';
import { decide, eventsOf, openOf, resolve, signalDecision, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const directory = scratchDirectory();
const agent = useAgent('reapplied', (effects) => [recordTool(effects, { name: 'pay', safety: 'dangerous' })]);
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
  const started = (await eventsOf(handle)).find(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'pay',
  );
  const task = started?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId;
  await resetTurn(handle, '--event-id', String(task));
  return agent.fixture().client.workflow.getHandle(handle.workflowId);
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
  expect(await cli('timeline', turn)).toMatch(/approved by ann .*applied again by the reset \(\S+: test\)/);
  await cli('keys', 'audit.key');
  await cli('audit', 'export', '--turn', turn, '--key', 'audit.key', '--out', 'audit.jsonl');
  expect(auditOf('audit.jsonl')).toContainEqual(
    expect.objectContaining({ type: 'decision', door: 'update', verdict: 'accepted', reappliedBy: eventId }),
  );
  await denyTheRest(handle);
  const json = historyToJSON(await handle.fetchHistory());
  // Ann's update and bob's signal came in one task, which a replay gives to the workflow in another order.
  const options = { workflowBundle: { codePath: testBundle() } };
  await expect(Worker.runReplayHistory(options, historyFromJSON(JSON.parse(json)))).resolves.toBeUndefined();
  expect(decisionsIn(await turnEventsOfJson(json))).toEqual(decisionsIn(await agent.client().timeline(turn)));
});
