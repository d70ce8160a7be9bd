import { optionalTsToMs } from '@temporalio/common/lib/time';
import { isObject } from '../../src/contract/json';
import type { CallSettings } from '../../src/contract/call';
import type { CallState } from '../../src/lifecycle/state';
import { pauseAfter } from '../../src/workflows/call-rounds';
import { type CallAttempt, scheduleCall } from '../../src/workflows/turn-call';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { type Calls, type CallShape, callsWith, validCall } from '../support/calls';
import { type Command, endWorkflow, lines, valueIn, WorkflowUnderTest } from '../support/workflow';

afterEach(endWorkflow);

type Change = (calls: Calls) => void;

/** A turn with a call that has started. */
const turnWith = (
  shape: CallShape = {},
  { settings = {}, change }: { settings?: Partial<CallSettings>; change?: Change } = {},
): { turn: Turn; state: CallState } => {
  const call = validCall(shape);
  const calls = callsWith({ ...call, settings: { ...call.settings, ...settings } });
  if (call.kind === 'ask') calls.say('decision', { callId: '1.1', decision: 'approved', approver: 'ann' });
  if (calls.call().phase === 'ready') calls.start('1.1', 's');
  change?.(calls);
  const turn = { ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'), approvals: calls.state };
  return { turn, state: calls.call() };
};

const attemptOf = (more: Partial<CallAttempt> = {}): CallAttempt => ({ scheduledAt: 0, pauses: 0, ...more });

/** The worker says that the decision does not hold, and a person decides once more. */
const voidOnce: Change = (calls) => {
  calls.do({ type: 'settle', callId: '1.1', settlement: { askAgain: 'again', secret: 's' } });
  calls.say('decision', { callId: '1.1', decision: 'approved', approver: 'ann' });
  calls.start('1.1', 's');
};

const runAgain: Change = (calls) => {
  calls.lose();
  calls.say('resolution', { callId: '1.1', resolution: 'run-again' });
  calls.start();
};

const commandsOf = async (run: () => unknown): Promise<Command[]> => {
  const { commands } = await WorkflowUnderTest.start(async () => {
    void run();
    await new Promise(() => undefined);
  });
  return commands;
};

it.each<[string, CallShape, Change | undefined, Partial<CallAttempt>, string]>([
  ['a call', { kind: 'run' }, undefined, {}, 'schedule call-1.1-0'],
  ['a local call', { kind: 'run', local: true }, undefined, {}, 'schedule locally'],
  ['a local call with a decision', { local: true }, undefined, {}, 'schedule call-1.1-0'],
  [
    'a local call that its worker gave back',
    { kind: 'run', local: true },
    undefined,
    { absent: { since: 0, rounds: 1 } },
    'schedule call-1.1-0',
  ],
  ['a call that runs again', { kind: 'run' }, runAgain, {}, 'schedule call-1.1-1'],
])('%s is scheduled by its kind', async (_, shape, change, attempt, line) => {
  const { turn, state } = turnWith(shape, { ...(change && { change }) });
  expect(lines(await commandsOf(() => scheduleCall(turn, state, attemptOf(attempt))))).toEqual([
    expect.stringContaining(line),
  ]);
});

it.each<[string, string, boolean, boolean, object]>([
  ['in a run that no reset made', 'run-1', false, false, {}],
  ['that a reset run got later', 'run-2', false, false, { askedIn: 'run-2', decidedIn: 'run-2' }],
  ['that a reset run kept, and that was decided on later', 'run-2', true, false, { decidedIn: 'run-2' }],
  ['that a reset run kept with its decision', 'run-2', true, true, {}],
])('the worker learns of a call %s', async (_, runId, isInherited, isOld, expected) => {
  const change: Change = (calls) => void (isOld && calls.do({ type: 'reset' }));
  const { turn, state } = turnWith({}, { change });
  const run = async (): Promise<unknown> => scheduleCall(turn, state, attemptOf(), isInherited);
  const { commands } = await WorkflowUnderTest.start(run, { info: { runId } });
  const input = valueIn(commands[0]?.scheduleActivity?.arguments?.[0]);
  const said = isObject(input)
    ? Object.entries(input).filter(([name]) => /^(asked|decided)In$/.test(name))
    : [];
  expect(Object.fromEntries(said)).toEqual(expected);
});

it.each<['unsafe' | 'idempotent', number]>([
  ['unsafe', 1],
  ['idempotent', 5],
])('a call that is %s has at most %i attempts', async (effect, attempts) => {
  const { turn, state } = turnWith({ kind: 'run', effect });
  const [command] = await commandsOf(() => scheduleCall(turn, state, attemptOf()));
  expect(command?.scheduleActivity?.retryPolicy?.maximumAttempts).toBe(attempts);
});

it.each([
  [60_000, 60_000],
  [500, 1000],
  [undefined, undefined],
])(
  'a longest wait of %s ms between attempts is %s ms for the server, which takes none below the first',
  async (most, wait) => {
    const shape: CallShape = { kind: 'run', effect: 'pure' };
    const { retry: usual } = validCall(shape).settings;
    const retry = { ...usual, ...(most === undefined ? {} : { maximumIntervalMs: most }) };
    const { turn, state } = turnWith(shape, { settings: { retry } });
    const [command] = await commandsOf(() => scheduleCall(turn, state, attemptOf()));
    expect(optionalTsToMs(command?.scheduleActivity?.retryPolicy?.maximumInterval)).toBe(wait);
  },
);

it.each<[string, CallShape, number | undefined]>([
  ['a call that a person decided comes first', {}, 1],
  ['a call that nobody was asked about has the priority of its turn', { kind: 'run' }, undefined],
])('%s', async (_, shape, key) => {
  const { turn, state } = turnWith(shape);
  const [command] = await commandsOf(() => scheduleCall(turn, state, attemptOf()));
  expect(command?.scheduleActivity?.priority?.priorityKey ?? undefined).toBe(key);
});

const absent = { since: 0, rounds: 2 };

it.each<[string, Change | undefined, Partial<CallAttempt>, number | undefined]>([
  ['never', undefined, {}, undefined],
  ['because its decision did not hold', voidOnce, {}, 1],
  ['for each reason', voidOnce, { absent, pauses: 3 }, 6],
])('a worker learns how often a call was given back: %s', async (_, change, attempt, round) => {
  const { turn, state } = turnWith({}, { ...(change && { change }) });
  const [command] = await commandsOf(() => scheduleCall(turn, state, attemptOf(attempt)));
  expect(valueIn(command?.scheduleActivity?.arguments?.[0])).toHaveProperty('callId', '1.1');
  expect(valueIn(command?.scheduleActivity?.arguments?.[0])).toEqual(
    round === undefined
      ? expect.not.objectContaining({ round: expect.anything() })
      : expect.objectContaining({ round }),
  );
});

describe('a call that shares state', () => {
  const HOLDER = { queue: 'countersign-worker:1', begunBy: 'k', runId: 'r' };
  const settings = { state: { scope: 'turn', group: 'memory' } } as const;

  it('goes to the queue of who holds it, and waits there for a short time', async () => {
    const { turn, state } = turnWith({ kind: 'run' }, { settings });
    turn.states.end(state.call, turn.states.place(state.call), { holder: HOLDER });
    const [command] = await commandsOf(() => scheduleCall(turn, state, attemptOf()));
    expect(command?.scheduleActivity?.taskQueue).toBe(HOLDER.queue);
    expect(Number(command?.scheduleActivity?.scheduleToStartTimeout?.seconds)).toBe(15);
    expect(valueIn(command?.scheduleActivity?.arguments?.[0])).toMatchObject({ state: { holder: HOLDER } });
  });
});

it.each<[string, number, number]>([
  ['an hour', 3_600_000, 100],
  ['a week', 7 * 24 * 3_600_000, 300],
  ['ten years', 10 * 365 * 24 * 3_600_000, 350],
])(
  'a call that may wait for a worker for %s is scheduled a bounded number of times',
  (_case, within, most) => {
    let rounds = 0;
    for (let waited = 0; waited < within; rounds++) waited += pauseAfter(waited, rounds, within);
    expect(rounds).toBeLessThan(most);
  },
);
