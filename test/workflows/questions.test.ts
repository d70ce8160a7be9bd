import { type CallQuestion, type ValidCall } from '../../src/contract/call';
import { LIMITS } from '../../src/contract/limits';
import { SIGNALS, UPDATES } from '../../src/contract/names';
import { resultOf, standingOf } from '../../src/lifecycle/state';
import { whatIsDue } from '../../src/lifecycle/endings';
import { apply } from '../../src/lifecycle/events';
import { act, markChanged } from '../../src/workflows/call-life';
import { closeQuestions } from '../../src/workflows/questions';
import { setHandlers } from '../../src/workflows/handlers';
import { MessageQueue } from '../../src/workflows/message-queue';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { AGE, Calls, validCall } from '../support/calls';
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

const ASK_MS = 60_000;

/** A turn with one call that runs and may ask. `change` happens to the call before. */
async function running(
  askMs: number | null = ASK_MS,
  change?: (calls: Calls) => void,
): Promise<{
  turn: Turn;
  ask(change?: object, id?: string): Promise<Command[]>;
  answer(message: object): Promise<Command[]>;
  send(of: readonly Job[], later?: number): Promise<Command[]>;
}> {
  const made = validCall({ kind: 'run', effect: 'unsafe' });
  const call: ValidCall = askMs === null ? made : { ...made, settings: { ...made.settings, askMs } };
  const calls = new Calls();
  calls.do({ type: 'registered', call, callKey: 'key:1.1', at: 0 });
  calls.start('1.1', 's');
  change?.(calls);
  const turn = { ...makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1'), approvals: calls.state };
  const { workflow } = await WorkflowUnderTest.start(async () => {
    setHandlers(turn, new MessageQueue());
    await new Promise(() => undefined);
  });
  const head = { callId: '1.1', callKey: 'key:1.1', generation: 0, secret: 's', attempt: 1, number: 1 };
  return {
    turn,
    ask: (changes, id = 'q1') =>
      workflow.task([jobs.update(UPDATES.ask, { ...head, question: AGE, ...changes }, id)]),
    answer: (message) => workflow.task([jobs.update(UPDATES.answer, message, 'a')]),
    send: (of, later) => workflow.task(of, later),
  };
}

const replyIn = (commands: readonly Command[]): unknown =>
  commands.flatMap(({ updateResponse }) =>
    updateResponse?.protocolInstanceId === 'q1' && updateResponse.completed
      ? [valueIn(updateResponse.completed)]
      : [],
  )[0];
const whyIn = (commands: readonly Command[]): string | null | undefined =>
  commands.at(-1)?.updateResponse?.rejected?.message;
const question = (turn: Turn, callId = '1.1.0.1') => turn.approvals.calls.get(callId);

it('waits as a question beside its call, and has the answer of a person', async () => {
  const { turn, ask, answer } = await running();
  expect(lines(await ask())).toEqual(['accept update', 'memo gated.1.1.0.1', 'memo gated.1.1.0.1']);
  expect(question(turn)).toMatchObject({
    phase: 'question',
    deadline: ASK_MS,
    call: { askedBy: '1.1', kind: 'ask', settings: { safety: 'safe' } },
  });
  const commands = await answer({ callId: '1.1.0.1', answer: 'answered', content: { age: 40 } });
  expect(replyIn(commands)).toEqual({ answer: 'answered', content: expect.objectContaining({ age: 40 }) });
  expect(question(turn)?.phase).toBe('done');
  expect(turn.approvals.calls.get('1.1')?.phase).toBe('running');
});

it('hears that a person declined', async () => {
  const { ask, answer } = await running();
  await ask();
  expect(replyIn(await answer({ callId: '1.1.0.1', answer: 'declined' }))).toEqual({ answer: 'declined' });
});

const expireAll = (turn: Turn): void => {
  turn.approvals = whatIsDue(turn.approvals, ASK_MS).reduce(apply, turn.approvals);
  markChanged(turn);
};

it.each<[what: string, of: () => Job[], end: (turn: Turn) => void, cause: string]>([
  ['its call ends', () => [], (turn) => closeQuestions(turn, '1.1'), 'askerEnded'],
  ['its server withdraws it', () => [withdrawal()], () => undefined, 'askerWithdrew'],
  ['the turn is cancelled', () => [], (turn) => void act(turn, { type: 'cancel' }), 'neverStarted'],
  ['nobody answers in time', () => [], expireAll, 'unanswered'],
])('is closed without an answer when %s', async (_what, of, end, cause) => {
  const { turn, ask, answer, send } = await running();
  await ask();
  end(turn);
  expect(replyIn(await send(of()))).toEqual({ answer: 'unanswered' });
  expect(turn.approvals.closings.get('1.1.0.1')).toBe(cause);
  const late = await answer({ callId: '1.1.0.1', answer: 'declined' });
  expect(late.at(-1)?.updateResponse?.rejected).toBeTruthy();
});

const OWN = { callId: '1.1', callKey: 'key:1.1', generation: 0, secret: 's', attempt: 1, number: 1 };
const withdrawal = (message: unknown = OWN): Job => jobs.signal(SIGNALS.withdraw, message);

it.each<[what: string, message: unknown]>([
  ['another secret', { ...OWN, secret: 'x' }],
  ['another key', { ...OWN, callKey: 'k' }],
  ['another generation', { ...OWN, generation: 1 }],
  ['another attempt', { ...OWN, attempt: 2 }],
  ['an earlier question', { ...OWN, number: 0 }],
  ['an unknown call', { ...OWN, callId: '9.9' }],
  ['the id of the question', { ...OWN, callId: '1.1.0.1' }],
  ['no number', { ...OWN, number: undefined }],
  ['a text as number', { ...OWN, number: '1' }],
  ['what no message has', { ...OWN, more: 1 }],
  ['too many bytes', { ...OWN, secret: 'x'.repeat(5_000) }],
  ['a list', [OWN]],
  ['nothing', null],
])('a withdrawal of %s changes nothing', async (_what, message) => {
  const { turn, ask, send } = await running();
  await ask();
  expect(lines(await send([withdrawal(message)]))).toEqual([]);
  expect(question(turn)?.phase).toBe('question');
  expect(turn.approvals.closings.size).toBe(0);
});

it('a withdrawal closes its question once, before it was asked not at all', async () => {
  const { turn, ask, send, answer } = await running();
  await send([withdrawal()]);
  await ask();
  expect(question(turn)?.phase).toBe('question');
  const commands = await send([withdrawal(), withdrawal()]);
  expect(replyIn(commands)).toEqual({ answer: 'unanswered' });
  expect(resultOf(question(turn))?.error).toMatchObject({ code: 'cancelled' });
  const late = await answer({ callId: '1.1.0.1', answer: 'declined' });
  expect(whyIn(late)).toContain('the server withdrew this question');
  await ask({ number: 2 }, 'q2');
  await send([withdrawal()]);
  expect(question(turn, '1.1.0.2')?.phase).toBe('question');
});

it.each<[first: string, taken: (answer: Job) => Job[], reply: object, cause: string | undefined]>([
  ['the answer', (answer) => [answer, withdrawal()], { answer: 'declined' }, undefined],
  ['the withdrawal', (answer) => [withdrawal(), answer], { answer: 'unanswered' }, 'askerWithdrew'],
])('of an answer and a withdrawal together %s wins that comes first', async (_, taken, reply, cause) => {
  const { turn, ask, send } = await running();
  await ask();
  const said = jobs.update(UPDATES.answer, { callId: '1.1.0.1', answer: 'declined' }, 'a');
  const commands = await send(taken(said));
  expect(replyIn(commands)).toEqual(reply);
  expect(turn.approvals.closings.get('1.1.0.1')).toBe(cause);
  expect(standingOf(turn.approvals, '1.1.0.1')?.decision).toBe(cause === undefined ? 'declined' : undefined);
  const isRefused = commands.some(({ updateResponse }) => updateResponse?.rejected != null);
  expect(isRefused).toBe(cause !== undefined);
});

it('a withdrawal of an answered question changes nothing', async () => {
  const { turn, ask, answer, send } = await running();
  await ask();
  await answer({ callId: '1.1.0.1', answer: 'declined' });
  const before = resultOf(question(turn));
  expect(lines(await send([withdrawal()]))).toEqual([]);
  expect(question(turn)).toMatchObject({ phase: 'done', result: before });
  expect(turn.approvals.closings.size).toBe(0);
});

it.each<[what: string, change: object, why: string]>([
  ['another secret', { secret: 'x' }, 'no call 1.1 that runs may ask'],
  ['no secret', { secret: undefined }, 'not a question'],
  ['another generation', { generation: 1 }, 'no call'],
  ['another key', { callKey: 'k' }, 'no call'],
  ['another call', { callId: '1.2' }, 'no call 1.2'],
  ['no question', { question: undefined }, 'not a question'],
  ['what no message has', { more: 1 }, 'not a known property'],
  ['no words', { question: { ...AGE, text: ' ' } }, 'characters'],
  ['too many words', { question: { ...AGE, text: 'x'.repeat(LIMITS.questionChars + 1) } }, 'characters'],
  ['a form that nobody could fill in', { question: { ...AGE, form: { type: 'array' } } }, 'fill in'],
  ['too many bytes', { question: { ...AGE, text: '語'.repeat(4_000), form: wide() } }, 'bytes'],
])('is refused with %s', async (_what, change, why) => {
  const { turn, ask } = await running();
  expect(whyIn(await ask(change))).toContain(why);
  expect(turn.approvals.calls.size).toBe(1);
});

function wide(): CallQuestion['question']['form'] {
  const field = { type: 'boolean', description: '語'.repeat(1_000) };
  return { type: 'object', properties: { a: field, b: field } };
}

it('is refused where the call may not ask, has ended, or was asked enough', async () => {
  const mute = await running(null);
  expect(whyIn(await mute.ask())).toContain('may ask');
  const over = await running(ASK_MS, (calls) => calls.lose());
  expect(whyIn(await over.ask())).toContain('may ask');
  const enough = await running();
  for (let n = 1; n <= LIMITS.questionsOfCall; n++) {
    await enough.ask({ number: n }, `q${n}`);
    await enough.answer({ callId: `1.1.0.${n}`, answer: 'declined' });
  }
  expect(whyIn(await enough.ask({}, 'more'))).toContain('at most');
  const late = await running();
  await late.ask();
  await late.send([withdrawal()], ASK_MS);
  expect(whyIn(await late.ask({}, 'later'))).toContain('time');
});

it('asks one question at a time; a later attempt takes the place of one that was lost', async () => {
  const { turn, ask } = await running();
  await ask();
  expect(whyIn(await ask({}, 'q2'))).toContain('one question at a time');
  const commands = await ask({ attempt: 2 }, 'q2');
  expect(replyIn(commands)).toEqual({ answer: 'unanswered' });
  expect(question(turn)?.phase).toBe('done');
  expect(question(turn, '1.1.0.2')?.phase).toBe('question');
});

it('has less time for its next question by what the first one took', async () => {
  const { turn, ask, send } = await running();
  await ask();
  const answer = { callId: '1.1.0.1', answer: 'declined' };
  await send([jobs.update(UPDATES.answer, answer, 'a')], 20_000);
  await ask({}, 'q2');
  expect(question(turn, '1.1.0.2')?.call.settings.requestExpiresMs).toBe(40_000);
});
