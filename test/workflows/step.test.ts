import type { PreparedCall } from '../../src/contract/call';
import { digestText } from '../../src/contract/digest';
import type { ForkInput } from '../../src/contract/fork';
import { secretOf } from '../../src/lifecycle/state';
import { nextToStart, placesIn } from '../../src/workflows/next-to-start';
import { runStep } from '../../src/workflows/step';
import { endStep } from '../../src/workflows/think';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import type { ToolResult } from '../../src/contract/result';
import { result } from '../history/script';
import { type CallShape, callsWith, validCall } from '../support/calls';
import { runtimeOf } from '../support/turn-runtime';
import { endWorkflow, type Job, jobs, WorkflowUnderTest } from '../support/workflow';
import type { Effect, Order } from '../../src/contract/tool';

afterEach(endWorkflow);

const turnWith = (fork?: ForkInput): Turn =>
  makeTurn({ agent: 'clerk', prompt: 'pay the bill', ...(fork === undefined ? {} : { fork }) }, 'run-1');

/** A call that is over. `ours`: the workflow made its result. */
interface Finished {
  callId: string;
  result: ToolResult | undefined;
  ours: boolean;
}

/** The results of a step with these calls, once all `tasks` have come; undefined where it still waits. */
async function finishedBy(
  turn: Turn,
  calls: readonly PreparedCall[],
  ...tasks: readonly Job[][]
): Promise<Finished[] | undefined> {
  let results: Finished[] | undefined;
  const { workflow } = await WorkflowUnderTest.start(async () => {
    await runStep(turn, calls, runtimeOf(turn));
    const all = endStep(turn, calls);
    results = turn.results.map(({ callId, text }, at) => ({
      callId,
      result: all[at],
      ours: text !== undefined,
    }));
  });
  for (const task of tasks) await workflow.task(task);
  return results;
}

const PURE: CallShape = { kind: 'run', effect: 'pure' };
const own: PreparedCall = {
  ...{ kind: 'invalid', callId: '1.1', id: 'm', tool: 'pay', proposed: {} },
  result: result('1.1', { content: 'no such argument' }),
};

it('without a call that runs is over at once, with the results that the calls brought', async () => {
  expect(await finishedBy(turnWith(), [own])).toEqual([{ callId: '1.1', result: own.result, ours: false }]);
});

it('waits until each call has its result', async () => {
  const calls = [validCall(PURE), validCall({ ...PURE, callId: '1.2' })];
  const first = jobs.completed(1, { result: result('1.1'), contentDigest: digestText('done') });
  expect(await finishedBy(turnWith(), calls, [first])).toBeUndefined();
});

it('gives results in the order of the model, whatever ended first', async () => {
  const calls = [validCall(PURE), validCall({ ...PURE, callId: '1.2' })];
  const ends = ['1.2', '1.1'].map((callId) => [
    jobs.completed(callId === '1.1' ? 1 : 2, { result: result(callId), contentDigest: digestText('done') }),
  ]);
  const results = await finishedBy(turnWith(), calls, ...ends);
  expect(results?.map(({ callId }) => callId)).toEqual(['1.1', '1.2']);
});

describe('a result', () => {
  it.each<[string, unknown, Partial<Finished>]>([
    [
      'of an activity is in history already',
      { result: result('1.1'), contentDigest: digestText('done') },
      { ours: false },
    ],
    ['that cannot be read is replaced by one of ours', 'done', { ours: true }],
    [
      'of another call is replaced by one of ours',
      { result: result('1.2'), contentDigest: digestText('done') },
      { ours: true },
    ],
  ])('%s', async (_, output, expected) => {
    const results = await finishedBy(turnWith(), [validCall(PURE)], [jobs.completed(1, output)]);
    expect(results).toMatchObject([expected]);
  });
});

it('closes all its calls where the turn is cancelled already', async () => {
  const turn = turnWith();
  turn.approvals = { ...turn.approvals, cancelled: true };
  const results = await finishedBy(turn, [validCall(), validCall({ ...PURE, callId: '1.2' })]);
  expect(results?.map((one) => one.result?.error?.code)).toEqual(['cancelled', 'cancelled']);
});

it('draws a secret for each start of an unsafe call, and for no other', async () => {
  const turn = turnWith();
  await finishedBy(turn, [validCall({ kind: 'run' }), validCall({ ...PURE, callId: '1.2' })]);
  const [unsafe, pure] = [...turn.approvals.calls.values()].map(secretOf);
  expect(unsafe).toMatch(/^[0-9a-f-]{36}$/);
  expect(pure).toBeUndefined();
});

/** `P` pure, `E` with an effect; then the phase. */
function started(line: string, order: Order): string {
  const words = line.split(' ');
  const effects: Record<string, Effect> = { P: 'pure', E: 'idempotent' };
  const calls = callsWith(
    ...words.map((word, index) => {
      const callId = `1.${index + 1}`;
      const effect = effects[word[0] ?? ''] ?? 'pure';
      const isAsked = ['w', 'p'].includes(word[1] ?? '');
      return validCall({ callId, effect, kind: isAsked ? 'ask' : 'run', preview: 'pays' });
    }),
  );
  for (const [index, word] of words.entries()) {
    const callId = `1.${index + 1}`;
    const [, phase = 'o'] = word;
    if (['x', 'd', 'o'].includes(phase) && word !== '') calls.start(callId);
    if (phase === 'd') calls.lose(callId);
    if (phase === 'o') calls.do({ type: 'closed', callId, result: result(callId), at: 1 });
    if (phase === 'p') calls.say('decision', { callId, decision: 'modified', arguments: { amount: 1 } });
  }
  return nextToStart([...calls.state.calls.values()], order)
    .map((state) => state.call.callId.slice(2))
    .join(' ');
}

it.each<[string, Order, string]>([
  ['Pr Pr Pr', 'lane', '1 2 3'],
  ['Er Er', 'lane', '1'],
  ['Ew Er', 'lane', '2'],
  ['Ew Ex Er', 'lane', ''],
  ['Ed Er Pr', 'lane', '3'],
  ['Eo Er Pr', 'lane', '3 2'],
  ['Ep Er', 'lane', '2'],
  ['Pr Pr', 'strict', '1'],
  ['Px Pr', 'strict', ''],
  ['Pw Pr', 'strict', ''],
  ['Eo Pr Er', 'strict', '2'],
  ['Ed Pr', 'strict', ''],
  ['Er Er Pr', 'parallel', '1 2 3'],
  ['Ed Er', 'parallel', '2'],
  ['', 'lane', ''],
])('%s in order %s starts %s', (line, order, expected) => {
  expect(started(line, order)).toBe(expected);
});

it.each<Order>(['lane', 'parallel'])('%s starts at most 16 pure calls at once', (order) => {
  expect(started(Array(20).fill('Pr').join(' '), order).split(' ')).toHaveLength(16);
  expect(started(Array(15).fill('Px').concat(Array(5).fill('Pr')).join(' '), order).split(' ')).toHaveLength(
    1,
  );
});

it('works the order out once for all calls that wait', () => {
  const { calls } = callsWith(
    ...Array.from({ length: 500 }, (_, n) => validCall({ ...PURE, callId: `1.${n}` })),
  ).state;
  const looked = jest.spyOn(calls, 'values');
  const turn = turnWith();
  turn.approvals = { ...turn.approvals, calls };
  const mayStart = placesIn(turn);
  const states = [...calls.values()];
  looked.mockClear();
  expect(states.filter((state) => mayStart(state))).toHaveLength(16);
  expect(looked).toHaveBeenCalledTimes(1);
});
