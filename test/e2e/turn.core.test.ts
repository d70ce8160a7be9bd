import { randomUUID } from 'node:crypto';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, openOf, signalDecision, transcriptOf, waitFor } from '../support/turns';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;

beforeAll(async () => {
  const tools = [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
    recordTool(effects, { name: 'mail', safety: 'dangerous' }),
  ];
  fixture = await startFixture({
    agents: [defineAgent({ name: 'three', instructions: 'do', model: book.model, tools })],
  });
});

const calls = (tag: string, ...names: string[]) => ({
  toolCalls: names.map((name) => ({ name, arguments: { tag } })),
});

test('approve, deny and a safe call of one step: each once, the denied one never, every call has a result', async () => {
  const handle = await fixture.start('three', book.add(calls('first', 'look', 'pay', 'mail'), readBack));
  await waitFor(handle, '1.3');
  expect((await openOf(handle))?.items.map((item) => item.callId)).toEqual(['1.2', '1.3']);
  await decide(handle, { callId: '1.2', decision: 'approved' });
  const denial = { callId: '1.3', decision: 'denied', reason: 'not today', approver: 'ann' };
  await signalDecision(handle, denial);
  const result = await handle.result();
  expect(result).toMatchObject({
    status: 'answered',
    steps: 2,
    counts: { calls: 3, failed: 1, denied: 1, requests: 2, modified: 0, expired: 0, inDoubt: 0 },
  });
  expect(result.answer).toContain('look did first | pay did first | ');
  expect(result.answer).toContain('ann denied this call: not today');
  expect((await effects.lines('first')).sort()).toEqual(['look first', 'pay first']);
  expect((await transcriptOf(handle)).map((entry) => entry.kind)).toEqual([
    'words',
    'reply',
    'result',
    'result',
    'result',
    'reply',
  ]);
});

test('a turn without calls is one reply, with the tokens it took', async () => {
  const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 };
  const handle = await fixture.start('three', book.add({ text: 'hello', usage }));
  expect(await handle.result()).toMatchObject({ status: 'answered', answer: 'hello', steps: 1, usage });
});

test('a workflow retry policy is refused at the start: no model is asked, nothing runs, nothing is retried', async () => {
  const workflowId = `test-turn-${randomUUID()}`;
  const handle = await fixture.client.workflow.start('agentTurn', {
    args: [{ agent: 'three', prompt: book.add(calls('retried', 'look'), readBack) }],
    taskQueue: fixture.taskQueue,
    workflowId,
    retry: { maximumAttempts: 3, initialInterval: 1 },
  });
  await expect(handle.result()).rejects.toMatchObject({
    cause: {
      type: 'countersign.turn',
      message: 'a turn takes no workflow retry policy: it would run its calls again',
    },
  });
  const events = await eventsOf(handle);
  expect(events.some((event) => event.activityTaskScheduledEventAttributes)).toBe(false);
  expect(events.at(-1)?.workflowExecutionFailedEventAttributes?.newExecutionRunId).toBe('');
  expect(await effects.lines('retried')).toEqual([]);
});
