import { condition } from '@temporalio/workflow';
import { LIMITS } from '../../src/contract/limits';
import { QUERIES, SIGNALS, UPDATES } from '../../src/contract/names';
import { setHandlers } from '../../src/workflows/handlers';
import { MessageQueue } from '../../src/workflows/message-queue';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { result } from '../history/script';
import { approvalsWith, type CallShape } from '../support/calls';
import {
  type Command,
  endWorkflow,
  type Job,
  jobs,
  lines,
  valueIn,
  WorkflowUnderTest,
} from '../support/workflow';

afterEach(endWorkflow);

/** A turn with these calls that only takes messages; calls without a decision are in doubt. */
async function listening(
  ...shapes: CallShape[]
): Promise<{ turn: Turn; send: (...of: Job[]) => Promise<Command[]> }> {
  const calls = approvalsWith(...shapes);
  for (const [callId, { phase }] of calls.state.calls) {
    if (phase !== 'ready') continue;
    calls.start(callId, 's');
    calls.lose(callId, 0);
  }
  const turn = { ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'), approvals: calls.state };
  const { workflow } = await WorkflowUnderTest.start(async () => {
    setHandlers(turn, new MessageQueue());
    await new Promise(() => undefined);
  });
  return { turn, send: (...of) => workflow.task(of) };
}

const phaseOf = (turn: Turn, callId = '1.1') => turn.approvals.calls.get(callId)?.phase;
const failureIn = (commands: readonly Command[]) =>
  commands.at(-1)?.updateResponse?.rejected?.applicationFailureInfo;

const ASK: CallShape = {};
const DOUBT: CallShape = { kind: 'run' };
const approve = { callId: '1.1', decision: 'approved' };

test.each([
  [UPDATES.answer, { callId: '1.1', answer: 'answered', content: {} }],
  [UPDATES.decide, approve],
])('while calls are prepared anew, an update %s is kept to be judged later', async (name, said) => {
  const turn = makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1');
  const { workflow } = await WorkflowUnderTest.start(async () => {
    const queue = new MessageQueue();
    queue.hold();
    setHandlers(turn, queue);
    await new Promise(() => undefined);
  });
  expect(lines(await workflow.task([jobs.update(name, said)]))).toEqual(['accept update']);
});

describe('what a reset applies again, all in one task', () => {
  const ann = jobs.update(UPDATES.decide, { ...approve, approver: 'ann' });
  const bob = jobs.signal(SIGNALS.approval, { ...approve, decision: 'denied', approver: 'bob' });

  it.each<[string, Job[]]>([
    ['live, in the order of history', [jobs.reseed(), ann, bob]],
    ['in a replay, signals first', [jobs.reseed(), bob, ann]],
  ])('is judged updates first: %s', async (_, of) => {
    const { turn, send } = await listening(ASK);
    const commands = await send(...of);
    expect(lines(commands)).toEqual(['accept update', 'complete update']);
    expect(valueIn(commands.at(-1)?.updateResponse?.completed)).toMatchObject({ accepted: true });
    expect(phaseOf(turn)).toBe('ready');
    expect(turn.signalVerdicts).toMatchObject([{ verdict: 'already_decided' }]);
  });

  it('is said again, also where it waited before the reset and is judged after it', async () => {
    const turn = {
      ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'),
      approvals: approvalsWith(ASK).state,
    };
    const { workflow } = await WorkflowUnderTest.start(async () => {
      const queue = new MessageQueue();
      queue.hold();
      setHandlers(turn, queue);
      await condition(() => queue.wasReset);
      queue.release();
      await new Promise(() => undefined);
    });
    await workflow.task([jobs.signal(SIGNALS.approval, approve)]);
    await workflow.task([jobs.reseed()]);
    expect(turn.approvals.calls.get('1.1')).toMatchObject({ phase: 'ready', leave: { isOld: true } });
  });

  it('does not change the order of the tasks after it', async () => {
    const { turn, send } = await listening(ASK);
    await send(jobs.reseed());
    expect(lines(await send(bob, ann))).toEqual(['reject update']);
    expect(phaseOf(turn)).toBe('done');
  });
});

describe('an update', () => {
  it.each<[string, CallShape, Job, string]>([
    ['decides', ASK, jobs.update(UPDATES.decide, approve), 'ready'],
    ['denies', ASK, jobs.update(UPDATES.decide, { ...approve, decision: 'denied' }), 'done'],
    ['resolves', DOUBT, jobs.update(UPDATES.resolve, { callId: '1.1', resolution: 'did-not' }), 'done'],
    ['runs again', DOUBT, jobs.update(UPDATES.resolve, { callId: '1.1', resolution: 'run-again' }), 'ready'],
  ])('%s and is answered in the same task', async (_, shape, job, phase) => {
    const { turn, send } = await listening(shape);
    const before = turn.revision;
    const commands = await send(job);
    expect(lines(commands)).toEqual(['accept update', 'complete update']);
    expect(valueIn(commands.at(-1)?.updateResponse?.completed)).toMatchObject({
      accepted: true,
      callId: '1.1',
      decisionId: expect.stringMatching(/.+/),
    });
    expect(phaseOf(turn)).toBe(phase);
    expect(turn.revision).toBeGreaterThan(before);
  });

  it.each<[string, CallShape, Job, string]>([
    [
      'a call that does not wait',
      ASK,
      jobs.update(UPDATES.decide, { ...approve, callId: '9.9' }),
      'unknown_call',
    ],
    ['a text', ASK, jobs.update(UPDATES.decide, 'approved'), 'malformed'],
    ['nothing', ASK, jobs.update(UPDATES.decide, undefined), 'malformed'],
    ['an unknown property', ASK, jobs.update(UPDATES.decide, { ...approve, aproved: true }), 'malformed'],
    [
      'too many bytes',
      ASK,
      jobs.update(UPDATES.decide, { ...approve, reason: 'x'.repeat(300_000) }),
      'malformed',
    ],
    [
      'a resolution of a request',
      ASK,
      jobs.update(UPDATES.resolve, { callId: '1.1', resolution: 'happened' }),
      'already_decided',
    ],
    ['a resolution that is not one', DOUBT, jobs.update(UPDATES.resolve, { callId: '1.1' }), 'malformed'],
  ])('is refused before it enters history: %s', async (_, shape, job, code) => {
    const { turn, send } = await listening(shape);
    const commands = await send(job);
    expect(lines(commands)).toEqual(['reject update']);
    expect(failureIn(commands)).toMatchObject({ type: code, nonRetryable: true });
    expect(turn.revision).toBe(0);
  });

  it('loses against one that came before it in the same task', async () => {
    const { send } = await listening(ASK);
    const commands = await send(
      jobs.update(UPDATES.decide, { ...approve, approver: 'ann' }, 'one'),
      jobs.update(UPDATES.decide, { ...approve, decision: 'denied' }, 'two'),
    );
    expect(failureIn(commands.filter(({ updateResponse }) => updateResponse?.rejected))).toMatchObject({
      type: 'already_decided',
    });
  });
});

describe('a run that has taken as many updates as it may', () => {
  const full = async (): ReturnType<typeof listening> => {
    const { turn, send } = await listening(ASK);
    jest.spyOn(MessageQueue.prototype, 'answered', 'get').mockReturnValue(LIMITS.runUpdates);
    return { turn, send };
  };
  afterEach(() => jest.restoreAllMocks());

  it('takes none that asks again', async () => {
    const { send } = await full();
    const renewal = { ...approve, decision: 'ask-again', approver: 'ann', reason: 'new rules' };
    expect(failureIn(await send(jobs.update(UPDATES.decide, renewal)))).toMatchObject({
      type: 'not_allowed',
    });
  });

  it('takes a decision to the end, and no repeat of it', async () => {
    const { turn, send } = await full();
    const first = { ...approve, decisionId: 'd1' };
    expect(lines(await send(jobs.update(UPDATES.decide, first)))).toEqual([
      'accept update',
      'complete update',
    ]);
    expect(phaseOf(turn)).toBe('ready');
    expect(failureIn(await send(jobs.update(UPDATES.decide, first)))).toMatchObject({ type: 'not_allowed' });
  });
});

it('counts the updates that it takes, and not those that it refuses', async () => {
  let queue: MessageQueue | undefined;
  const turn = { ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'), approvals: approvalsWith(ASK).state };
  const { workflow } = await WorkflowUnderTest.start(async () => {
    queue = new MessageQueue();
    setHandlers(turn, queue);
    await new Promise(() => undefined);
  });
  await workflow.task([jobs.update(UPDATES.decide, { ...approve, callId: '9.9' })]);
  await workflow.task([jobs.update(UPDATES.decide, approve)]);
  expect(queue?.answered).toBe(1);
});

describe('a signal', () => {
  it.each<[string, CallShape, Job, string, string]>([
    ['decides', ASK, jobs.signal(SIGNALS.approval, approve), 'accepted', 'ready'],
    ['is refused', ASK, jobs.signal(SIGNALS.approval, { callId: '1.1' }), 'malformed', 'request'],
    [
      'resolves',
      DOUBT,
      jobs.signal(SIGNALS.resolution, { callId: '1.1', resolution: 'happened' }),
      'accepted',
      'done',
    ],
    ['is refused as a resolution', DOUBT, jobs.signal(SIGNALS.resolution, 7), 'malformed', 'in_doubt'],
  ])('%s, and its verdict is kept for the memo', async (_, shape, job, verdict, phase) => {
    const { turn, send } = await listening(shape);
    expect(await send(job)).toEqual([]);
    expect(turn.signalVerdicts).toMatchObject([{ verdict }]);
    expect(turn.signalsWaiting).toBe(0);
    expect(phaseOf(turn)).toBe(phase);
  });

  const outcome = { callKey: 'k:1.1', generation: 0, secret: 's', result: result('1.1') };

  it.each<[string, unknown, string]>([
    ['ends the doubt', outcome, 'done'],
    ['with another secret changes nothing', { ...outcome, secret: 'guessed' }, 'in_doubt'],
    ['of another generation changes nothing', { ...outcome, generation: 1 }, 'in_doubt'],
    ['of another call changes nothing', { ...outcome, callKey: 'k:1.2' }, 'in_doubt'],
    ['without a result changes nothing', { ...outcome, result: {} }, 'in_doubt'],
    ['that cannot be read changes nothing', 'it worked', 'in_doubt'],
  ])('with a late outcome %s', async (_, sent, phase) => {
    const { turn, send } = await listening(DOUBT);
    await send(jobs.signal(SIGNALS.outcome, sent));
    expect(phaseOf(turn)).toBe(phase);
    expect(turn.revision).toBe(phase === 'done' ? 1 : 0);
  });

  it.each<[string, unknown, object]>([
    ['with a reason', { reason: 'moved', approver: 'ann' }, { reason: 'moved', approver: 'ann' }],
    ['that cannot be read', 7, {}],
    ['that is empty', {}, {}],
  ])('abandons the turn: one %s', async (_, sent, abandoned) => {
    const { turn, send } = await listening(DOUBT);
    await send(jobs.signal(SIGNALS.abandon, sent));
    expect(turn.approvals.abandoned).toEqual({ ...abandoned, at: 0 });
    expect(turn.revision).toBe(1);
  });
});

it('answers the transcript by query, and changes nothing', async () => {
  const { turn, send } = await listening(ASK);
  turn.transcript.add({ kind: 'words', text: 'q' });
  const [command] = await send(jobs.query(QUERIES.transcript, { from: 1 }));
  expect(valueIn(command?.respondToQuery?.succeeded?.response)).toEqual({
    from: 1,
    entries: [{ kind: 'words', text: 'q' }],
    next: null,
  });
  expect(turn.revision).toBe(0);
});
