import type { QuestionAnswer, Verdict } from '../../src/contract/decision';
import type { JsonObject } from '../../src/contract/json';
import { askUser } from '../../src/tools/builtin/ask-user';
import { defineAgent } from '../../src/tools/define-agent';
import type { ScriptedReply, ScriptedStep } from '../../src/models/scripted';
import { recordTool } from '../support/effects';
import { useAgent } from '../support/agent-fixture';
import { startFixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, openOf, send, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const FORM = {
  type: 'object',
  properties: {
    city: { type: 'string', title: 'City', minLength: 2 },
    nights: { type: 'integer', minimum: 1, maximum: 30, default: 3 },
    room: { type: 'string', enum: ['single', 'double'] },
  },
  required: ['city', 'nights'],
} satisfies JsonObject;

const { start, effects, client, fixture, book } = useAgent('asker', (written) => [
  askUser(),
  askUser({ name: 'ask_soon', expires: '1s' }),
  recordTool(written, { name: 'pay', safety: 'dangerous' }),
]);

const asks = (more: JsonObject = { schema: FORM }, name = 'ask_user'): ScriptedReply => ({
  toolCalls: [{ name, arguments: { question: 'Where do you want to go?', ...more } }],
});
const ask = (...steps: ScriptedStep[]): Promise<TurnHandle> => start(steps, '1.1', 'question');
const answer = (handle: TurnHandle, given: Partial<QuestionAnswer> & JsonObject): Promise<Verdict> =>
  send(handle, 'answer', { callId: '1.1', answer: 'answered', ...given }, given.decisionId);

test('an answer by update is the result of the call, with the defaults of the form; no activity runs', async () => {
  const handle = await ask(asks());
  expect((await openOf(handle))?.items).toMatchObject([
    { kind: 'question', tool: 'ask_user', summary: '1.1 ask_user Where do you want to go?' },
  ]);
  const view = await client().view(handle.workflowId);
  expect(view).toMatchObject({ status: 'waiting', requests: [], questions: [{ callId: '1.1' }] });
  const verdict = await answer(handle, { content: { city: 'Rome' }, approver: 'ann', reason: 'by train' });
  expect(verdict).toMatchObject({ accepted: true, decision: 'answered', approver: 'ann' });
  const { answer: text, counts } = await handle.result();
  expect(text).toContain('ann answered. Remark: by train');
  expect(text).toContain('{"city":"Rome","nights":3}');
  expect(counts).toMatchObject({ calls: 1, failed: 0, requests: 0 });
  const scheduled = (await eventsOf(handle)).flatMap(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
  );
  expect(new Set(scheduled)).toEqual(new Set(['countersign.think']));
  expect((await client().view(handle.workflowId)).calls).toMatchObject([
    { phase: 'done', outcome: 'done', answers: [{ content: { city: 'Rome', nights: 3 }, door: 'update' }] },
  ]);
});

test.each<[what: string, given: JsonObject, code: string, issues: JsonObject[] | undefined]>([
  ['what is missing', { content: {} }, 'validation', [{ path: '' }]],
  ['nothing at all', {}, 'validation', [{ path: '' }]],
  [
    'wrong values',
    { content: { city: 'x', nights: 31 } },
    'validation',
    [{ path: '/city' }, { path: '/nights' }],
  ],
  [
    'a choice that is none',
    { content: { city: 'Rome', room: 'ballroom' } },
    'validation',
    [{ path: '/room' }],
  ],
  [
    'a field that the form has not',
    { content: { city: 'Rome', more: 1 } },
    'validation',
    [{ path: '/more' }],
  ],
  ['content beside declined', { answer: 'declined', content: {} }, 'malformed', undefined],
  ['a decision in its place', { decision: 'approved' }, 'malformed', undefined],
  ['another call', { callId: '1.2', content: { city: 'Rome' } }, 'unknown_call', undefined],
  ['another key', { callKey: 'other', content: { city: 'Rome' } }, 'stale_args', undefined],
])('refuses %s and stays open', async (_what, given, code, issues) => {
  const handle = await ask(asks());
  const verdict = await answer(handle, given);
  expect(verdict).toMatchObject({ accepted: false, code, ...(issues && { issues }) });
  expect((await openOf(handle))?.count).toBe(1);
  await handle.terminate();
});

test('no decision answers a question, and no answer decides a request: nothing runs', async () => {
  const pays = { name: 'pay', arguments: { tag: 'crossed' } };
  const handle = await ask({ toolCalls: [...(asks().toolCalls ?? []), pays] });
  await waitFor(handle, '1.2');
  expect(await decide(handle, { callId: '1.1', decision: 'approved' })).toMatchObject({ code: 'malformed' });
  expect(await decide(handle, { callId: '1.1', decision: 'denied' })).toMatchObject({ code: 'malformed' });
  expect(await answer(handle, { callId: '1.2', content: {} })).toMatchObject({ code: 'malformed' });
  await handle.signal('approval', { callId: '1.1', decision: 'approved', decisionId: 'a' });
  await handle.signal('answer', { callId: '1.2', answer: 'answered', content: {}, decisionId: 'b' });
  await until('both verdicts', async () => (await verdictsOf(handle)).length === 2);
  expect(await verdictsOf(handle)).toMatchObject([{ verdict: 'malformed' }, { verdict: 'malformed' }]);
  expect((await openOf(handle))?.count).toBe(2);
  await answer(handle, { content: { city: 'Rome' } });
  expect(await decide(handle, { callId: '1.1', decision: 'approved' })).toMatchObject({
    code: 'already_decided',
    standing: { decision: 'answered' },
  });
  await decide(handle, { callId: '1.2', decision: 'denied' });
  await handle.result();
  expect(await effects.lines('crossed')).toEqual([]);
});

test('twice: the same id gets the first verdict, with other content it is malformed; a second person is too late', async () => {
  const pays = { name: 'pay', arguments: { tag: 'kept open' } };
  const handle = await ask({ toolCalls: [...(asks().toolCalls ?? []), pays] });
  const first = { content: { city: 'Rome' }, approver: 'ann', decisionId: 'one' };
  const verdict = await answer(handle, first);
  const sent = { callId: '1.1', answer: 'answered', ...first };
  expect(await send(handle, 'answer', sent, 'again')).toEqual(verdict);
  expect(await send(handle, 'answer', { ...sent, content: { city: 'Oslo' } }, 'other')).toMatchObject({
    code: 'malformed',
  });
  expect(await answer(handle, { content: { city: 'Oslo' }, approver: 'bob' })).toMatchObject({
    code: 'already_decided',
    standing: { decision: 'answered', approver: 'ann' },
  });
  await decide(handle, { callId: '1.2', decision: 'denied' });
  expect((await handle.result()).answer).toContain('Rome');
});

test('two at once: one is taken', async () => {
  const handle = await ask(asks());
  const both = await Promise.all(
    ['Rome', 'Oslo'].map((city) => answer(handle, { content: { city }, approver: city })),
  );
  expect(both.filter(({ accepted }) => accepted)).toHaveLength(1);
  const taken = both.find(({ accepted }) => accepted);
  expect((await handle.result()).answer).toContain(taken?.accepted === true ? taken.approver : 'nobody');
});

test('declined: the model reads who and why', async () => {
  const handle = await ask(asks());
  expect(
    await answer(handle, { answer: 'declined', approver: 'ann', reason: 'not my business' }),
  ).toMatchObject({
    decision: 'declined',
  });
  expect((await handle.result()).answer).toContain('ann declined to answer: not my business.');
  expect((await client().view(handle.workflowId)).calls).toMatchObject([
    { phase: 'done', outcome: 'denied' },
  ]);
});

test('it expires with words for the model, and a late answer is refused', async () => {
  const pays = { name: 'pay', arguments: { tag: 'later' } };
  const prompt = book.add({ toolCalls: [...(asks({}, 'ask_soon').toolCalls ?? []), pays] }, readBack);
  const handle = await fixture().start('asker', prompt);
  await until('the question to expire', async () => (await openOf(handle))?.count === 1);
  expect(await answer(handle, { content: { answer: 'Rome' } })).toMatchObject({ code: 'expired' });
  await decide(handle, { callId: '1.2', decision: 'denied' });
  const { answer: text } = await handle.result();
  expect(text).toContain('Error [expired]: Nobody answered this question in time.');
  const events = await client().timeline(handle.workflowId);
  expect(events).toContainEqual(expect.objectContaining({ type: 'request_expired', question: true }));
});

test('a cancelled turn closes its questions', async () => {
  const handle = await ask(asks());
  await client().cancel(handle.workflowId);
  await expect(handle.result()).rejects.toThrow();
  const view = await client().view(handle.workflowId);
  expect(view).toMatchObject({ status: 'cancelled', questions: [] });
  expect(await client().answer(handle.workflowId, { callId: '1.1', answer: 'declined' })).toMatchObject({
    status: 'refused',
    verdict: { code: 'cancelled' },
  });
});

test.each<[what: string, schema: JsonObject, said: string]>([
  ['no fields', { type: 'object', properties: {} }, 'must have 1 to 20 fields'],
  ['a nested field', { type: 'object', properties: { a: { type: 'object' } } }, 'must have the type string'],
  [
    'a pattern',
    { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+' } } },
    'is not supported',
  ],
  ['a secret', { type: 'object', properties: { a: { type: 'string', secret: true } } }, 'asks for a secret'],
])('a form with %s is an error for the model, and nobody is asked', async (what, schema, said) => {
  const handle = await fixture().start('asker', book.add(asks({ schema }), readBack));
  expect((await handle.result()).answer).toContain(said);
  expect((await client().view(handle.workflowId)).calls).toMatchObject([{ answers: [] }]);
});

describe('without a worker', () => {
  test('an answer by signal is on record and counts when a worker returns; a bad one leaves a verdict', async () => {
    const own = scriptBook();
    const agents = [defineAgent({ name: 'asker', instructions: 'do', model: own.model, tools: [askUser()] })];
    const away = await startFixture({ workers: 0, agents });
    const worker = await away.addWorker();
    const handle = await away.start('asker', own.add(asks(), readBack));
    await waitFor(handle, '1.1', 'question');
    await worker.stop();
    await handle.signal('answer', 'nonsense');
    await handle.signal('answer', {
      callId: '1.1',
      answer: 'answered',
      content: { city: 7 },
      decisionId: 'bad',
    });
    const sent = await client().answer(handle.workflowId, {
      ...{
        callId: '1.1',
        answer: 'answered',
        content: { city: 'Rome' },
        approver: 'ann',
        decisionId: 'good',
      },
    });
    expect(sent).toEqual({ status: 'recorded', decisionId: 'good' });
    await away.addWorker();
    expect((await handle.result()).answer).toContain('"city":"Rome"');
    const { calls, unjudged } = await client().view(handle.workflowId);
    expect(unjudged).toBe(0);
    const judged = calls[0]?.answers.map(({ judgement }) => judgement) ?? [];
    expect(judged).toHaveLength(2);
    expect(judged).toContainEqual({ accepted: false, code: 'validation' });
    expect(judged).toContainEqual({ accepted: true });
  });
});

test('a worker is killed while a question waits: the answer that comes meanwhile is taken once by the next worker', async () => {
  const place = await startFixture();
  const worker = await place.addProcess();
  const handle = await place.startSteps(asks());
  await waitFor(handle, '1.1', 'question');
  await worker.kill();
  const given = { callId: '1.1', answer: 'answered', content: { city: 'Rome' }, approver: 'ann' } as const;
  const sent = await client().answer(handle.workflowId, { ...given, decisionId: 'once' });
  expect(sent).toMatchObject({ status: 'recorded' });
  await place.addProcess();
  expect((await handle.result()).answer).toContain('{"city":"Rome","nights":3}');
  const { calls } = await client().view(handle.workflowId);
  expect(calls).toMatchObject([{ phase: 'done', outcome: 'done', answers: [{ decisionId: 'once' }] }]);
});
