import type { CallSettings } from '../../src/contract/call';
import type { CallState } from '../../src/lifecycle/state';
import { liveCall } from '../../src/workflows/call-life';
import { placesIn } from '../../src/workflows/next-to-start';
import { TurnCall } from '../../src/workflows/turn-call';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { callsWith, validCall } from '../support/calls';
import { runtimeOf } from '../support/turn-runtime';
import { type Command, endWorkflow, type Job, jobs, valueIn, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

const HOLDER = { queue: 'countersign-worker:1', begunBy: 'k', runId: 'r' };
const HOLD = { state: { scope: 'turn', group: 'memory' } } as const;

/** The life of a call that needs no decision, task by task. `begin` is done before it starts. */
async function live(settings: Partial<CallSettings>, begin?: (turn: Turn, state: CallState) => void) {
  const call = validCall({ kind: 'run', effect: 'idempotent' });
  const calls = callsWith({ ...call, settings: { ...call.settings, ...settings } });
  const turn = { ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'), approvals: calls.state };
  begin?.(turn, calls.call());
  const { workflow, commands } = await WorkflowUnderTest.start(async () => {
    void liveCall(new TurnCall(turn, '1.1', runtimeOf(turn), placesIn(turn)));
    await new Promise(() => undefined);
  });
  const scheduled = (of: readonly Command[]) => of.flatMap(({ scheduleActivity }) => scheduleActivity ?? []);
  const send = async (come: Job[], later?: number) => scheduled(await workflow.task(come, later));
  return { turn, first: scheduled(commands), send, state: () => turn.approvals.calls.get('1.1') };
}

const notHere = (seq: number): Job => jobs.completed(seq, { notHere: 'no agent clerk' });

it('that no worker could start yet waits, is scheduled again, and is given up when its time to start is over', async () => {
  const { send, state } = await live({ startWithinMs: 5000 });
  expect(await send([notHere(1)])).toEqual([]);
  const [again] = await send([jobs.fired(1)], 1000);
  expect(valueIn(again?.arguments?.[0])).toMatchObject({ round: 1 });
  expect(again).toMatchObject({ doNotEagerlyExecute: true });
  await send([notHere(2)], 9000);
  expect(state()).toMatchObject({
    phase: 'done',
    result: { error: { code: 'expired', message: expect.stringContaining('no agent clerk') } },
  });
});

it('that a pause holds is held, and then is scheduled again with the same key', async () => {
  const { send, state, first } = await live({});
  const [held] = await send([jobs.completed(1, { paused: 'all', mayHaveRun: true })]);
  expect(held).toMatchObject({ activityType: 'countersign.held' });
  expect(state()).toMatchObject({ phase: 'running', isHeld: true, mayHaveRun: true });
  const [again] = await send([jobs.completed(2, undefined)]);
  expect(again?.activityId).toBe(first[0]?.activityId);
  expect(state()).toMatchObject({ phase: 'running', isHeld: false, mayHaveRun: true });
});

describe('that was not taken by the worker that holds its state', () => {
  const held = (turn: Turn, { call }: CallState): void =>
    turn.states.end(call, turn.states.place(call), { holder: HOLDER });
  const untaken = jobs.failed(1, {
    message: 'activity',
    activityFailureInfo: { activityType: { name: 'pay' } },
    cause: { message: 'late', timeoutFailureInfo: { timeoutType: 2 } },
  });

  it('goes on at once to the queue of its tool, and says so to its worker', async () => {
    const { first, send } = await live(HOLD, held);
    expect(first).toMatchObject([{ taskQueue: HOLDER.queue }]);
    const [again] = await send([untaken], 15_500);
    expect(again).toMatchObject({ taskQueue: 'queue', doNotEagerlyExecute: true });
    expect(valueIn(again?.arguments?.[0])).toMatchObject({ round: 1, state: { lost: true } });
  });

  it.each([
    ['waits for one that looks for another worker', false],
    ['never starts where its turn is cancelled meanwhile', true],
  ])('%s', async (_, isCancelled) => {
    let other = validCall();
    const { turn, send, state } = await live(HOLD, (made, begun) => {
      held(made, begun);
      other = { ...begun.call, callId: '1.2' };
    });
    turn.states.leave(other, HOLDER);
    turn.states.reserve(other);
    expect(await send([untaken], 15_500)).toEqual([]);
    expect(state()?.phase).toBe('running');
    if (!isCancelled) {
      turn.states.end(other, { lost: true }, { holder: { ...HOLDER, queue: 'countersign-worker:2' } });
      expect(await send([])).toMatchObject([{ taskQueue: 'countersign-worker:2' }]);
      return;
    }
    turn.approvals = { ...turn.approvals, cancelled: true };
    await send([jobs.cancel()]);
    expect(state()).toMatchObject({ phase: 'done', result: { error: { code: 'cancelled' } } });
    expect(turn.approvals.closed.get('1.1')?.cause).toBe('neverStarted');
  });
});
