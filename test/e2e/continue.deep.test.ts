import type { ModelMessage } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import {
  decide,
  eventsOf,
  openOf,
  scheduledInputs,
  signalDecision,
  transcriptOf,
  verdictsOf,
  waitFor,
} from '../support/turns';
import { until } from '../support/until';

/** A server that suggests to continue as new after a few events. */
const SUGGEST = 'limit.historyCount.suggestContinueAsNew=5';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;

beforeAll(async () => {
  const tools = [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
  ];
  fixture = await startFixture({
    ownServer: { dynamicConfig: [SUGGEST] },
    agents: [
      defineAgent({ name: 'long', instructions: 'do', model: book.model, tools, limits: { steps: 6 } }),
    ],
  });
});

/** Runs of a turn, oldest first. */
const runsOf = async (workflowId: string): Promise<number> => {
  const { count } = await fixture.client.workflow.count(`WorkflowId="${workflowId}"`);
  return count;
};

test('transcript, step numbers and counts go on across runs; the model sees one conversation', async () => {
  let seen: ModelMessage[] = [];
  const look = { toolCalls: [{ name: 'look', arguments: { tag: 'long' } }] };
  const prompt = book.add(...Array<typeof look>(5).fill(look), ({ messages }) => {
    seen = messages;
    return { text: 'done' };
  });
  const handle = await fixture.start('long', prompt);
  expect(await handle.result()).toMatchObject({
    answer: 'done',
    steps: 6,
    counts: { calls: 5, failed: 0 },
  });
  expect(await until('the runs', async () => (await runsOf(handle.workflowId)) > 2)).toBe(true);
  expect(seen).toHaveLength(11);
  expect(await transcriptOf(handle)).toHaveLength(12);
  const calls = seen.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
  expect(new Set(calls.map(({ id }) => id)).size).toBe(5);
  expect(await effects.lines('long')).toHaveLength(5);
});

test('the step limit counts steps of all runs', async () => {
  const look = { text: 'more', toolCalls: [{ name: 'look', arguments: { tag: 'limit' } }] };
  const handle = await fixture.start('long', book.add(...Array<typeof look>(8).fill(look)));
  expect(await handle.result()).toMatchObject({ status: 'step_limit', steps: 6 });
  expect(await effects.lines('limit')).toHaveLength(6);
});

test('a spent decision stays spent in the next run; nothing of the run before is left in the inbox', async () => {
  const pay = { toolCalls: [{ name: 'pay', arguments: { tag: 'spent' } }] };
  const handle = await fixture.start('long', book.add(...Array<typeof pay>(4).fill(pay), { text: 'done' }));
  const first = { callId: '1.1', decision: 'approved', decisionId: 'first', approver: 'ann' } as const;
  await waitFor(handle, '1.1');
  const verdict = await decide(handle, first);
  await waitFor(handle, '2.1');
  await decide(handle, { callId: '2.1', decision: 'denied', decisionId: 'second' });
  await waitFor(handle, '3.1');
  const [started] = await eventsOf(handle);
  expect(started?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId).toBeTruthy();
  expect(await openOf(handle)).toMatchObject({ count: 1, items: [{ callId: '3.1' }] });
  expect(await decide(handle, first)).toEqual(verdict);
  expect(await decide(handle, { ...first, callId: '3.1' })).toMatchObject({ code: 'malformed' });
  expect(await decide(handle, { ...first, decisionId: 'other' })).toMatchObject({
    code: 'already_decided',
    standing: { decision: 'approved', approver: 'ann' },
  });
  await signalDecision(handle, first);
  await decide(handle, { callId: '3.1', decision: 'denied' });
  await waitFor(handle, '4.1');
  expect((await verdictsOf(handle)).map(({ verdict }) => verdict)).toEqual(['accepted']);
  await signalDecision(handle, { callId: '4.2', decision: 'denied', decisionId: 'unknown' });
  await until('both verdicts', async () => (await verdictsOf(handle)).length > 1);
  expect((await verdictsOf(handle)).map(({ verdict }) => verdict)).toEqual(['accepted', 'unknown_call']);
  await decide(handle, { callId: '4.1', decision: 'denied' });
  await handle.result();
  expect(await openOf(handle)).toBeUndefined();
  expect(await effects.lines('spent')).toHaveLength(1);
});

test('between runs the inbox is clean while the model thinks', async () => {
  let release = (): void => undefined;
  const thinking = new Promise<void>((resolve) => {
    release = resolve;
  });
  const look = { toolCalls: [{ name: 'look', arguments: { tag: 'clean' } }] };
  const ask = { toolCalls: [{ name: 'pay', arguments: { tag: 'clean' } }] };
  const handle = await fixture.start(
    'long',
    book.add(look, look, ask, async () => {
      await thinking;
      return { text: 'done' };
    }),
  );
  await waitFor(handle, '3.1');
  await decide(handle, { callId: '3.1', decision: 'denied' });
  await until('the next step', async () =>
    (await scheduledInputs(handle, 'countersign.think')).some((input) => input['step'] === 4),
  );
  expect(await openOf(handle)).toBeUndefined();
  const { searchAttributes } = await handle.describe();
  expect(searchAttributes).toMatchObject({ CountersignState: ['running'], CountersignPending: [0] });
  release();
  await handle.result();
});

test('decisions that rain down while runs change land once', async () => {
  const look = { toolCalls: [{ name: 'look', arguments: { tag: 'rain' } }] };
  const pay = { toolCalls: [{ name: 'pay', arguments: { tag: 'rain' } }] };
  const handle = await fixture.start('long', book.add(look, pay, look, { text: 'done' }));
  const decision = { callId: '2.1', decision: 'approved', decisionId: 'rain' } as const;
  await until('the payment', async () => {
    await Promise.all(
      Array.from({ length: 5 }, () => signalDecision(handle, decision).catch(() => undefined)),
    );
    return (await effects.lines('pay rain')).length > 0;
  });
  await handle.result();
  expect(await effects.lines('pay rain')).toHaveLength(1);
});
