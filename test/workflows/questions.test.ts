import { type CallQuestion, type ValidCall } from '../../src/contract/call';
import { LIMITS } from '../../src/contract/limits';
import { SIGNALS, UPDATES } from '../../src/contract/names';
import { closeQuestions, withdrawQuestion } from '../../src/workflows/questions';
import { cancelAll, expire, register, start } from '../../src/workflows/approvals/transitions';
import type { CallState } from '../../src/workflows/approvals/state';
import { setHandlers } from '../../src/workflows/handlers';
import { MessageQueue } from '../../src/workflows/message-queue';
import { makeTurn, type Turn } from '../../src/workflows/turn-state';
import { AGE, validCall } from '../support/calls';
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

/** A turn with one call that runs and may ask. */
async function running(askMs: number | null = ASK_MS): Promise<{
  turn: Turn;
  call: CallState;
  ask(change?: object, id?: string): Promise<Command[]>;
  answer(message: object): Promise<Command[]>;
  send(of: readonly Job[], later?: number): Promise<Command[]>;
}> {
  const turn = makeTurn({ agent: 'clerk', prompt: 'p' }, 'run-1');
  const made = validCall({ kind: 'run', effect: 'unsafe' });
  const call: ValidCall = askMs === null ? made : { ...made, settings: { ...made.settings, askMs } };
  const state = register(turn.approvals, call, { callKey: 'key:1.1', now: 0 });
  start(state);
  state.secret = 's';
  const { workflow } = await WorkflowUnderTest.start(async () => {
    setHandlers(turn, new MessageQueue());
    await new Promise(() => undefined);
  });
  const head = { callId: '1.1', callKey: 'key:1.1', generation: 0, secret: 's', attempt: 1, number: 1 };
  return {
    turn,
    call: state,
    ask: (change, id = 'q1') =>
      workflow.task([jobs.update(UPDATES.ask, { ...head, question: AGE, ...change }, id)]),
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

it.each<[what: string, end: (of: { turn: Turn; call: CallState }) => void, cause: string]>([
  ['its call ends', ({ turn, call }) => closeQuestions(turn.approvals, call, 0), 'askerEnded'],
  ['its server withdraws it', ({ turn }) => void withdrawQuestion(turn.approvals, OWN, 0), 'askerWithdrew'],
  ['the turn is cancelled', ({ turn }) => cancelAll(turn.approvals, 0), 'neverStarted'],
  ['nobody answers in time', ({ turn }) => expire(turn.approvals, ASK_MS), 'unanswered'],
])('is closed without an answer when %s', async (_what, end, cause) => {
  const { turn, call, ask, answer, send } = await running();
  await ask();
  end({ turn, call });
  expect(replyIn(await send([jobs.fired(99)].slice(1)))).toEqual({ answer: 'unanswered' });
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
  expect(question(turn)?.result?.error).toMatchObject({ code: 'cancelled' });
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
  expect(question(turn)?.standing?.decision).toBe(cause === undefined ? 'declined' : undefined);
  const isRefused = commands.some(({ updateResponse }) => updateResponse?.rejected != null);
  expect(isRefused).toBe(cause !== undefined);
});

it('a withdrawal of an answered question changes nothing', async () => {
  const { turn, ask, answer, send } = await running();
  await ask();
  await answer({ callId: '1.1.0.1', answer: 'declined' });
  const before = question(turn)?.result;
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
  const over = await running();
  over.call.phase = 'in_doubt';
  expect(whyIn(await over.ask())).toContain('may ask');
  const enough = await running();
  enough.call.asked = { questions: LIMITS.questionsOfCall, leftMs: 1 };
  expect(whyIn(await enough.ask())).toContain('at most');
  const late = await running();
  late.call.asked = { questions: 1, leftMs: 0 };
  expect(whyIn(await late.ask())).toContain('time');
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
