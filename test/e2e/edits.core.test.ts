import { defaultPayloadConverter } from '@temporalio/common';
import { z } from 'zod';
import { connect } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { planTool } from '../support/plan-tool';
import { readBack, scriptBook, toolTexts } from '../support/script-book';
import { testAddress } from '../support/server';
import {
  decide,
  eventsOf,
  newPlan,
  openOf,
  scheduledInputs,
  seenOf,
  signalDecision,
  verdictsOf,
  waitFor,
} from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;

beforeAll(async () => {
  const even = defineTool({
    name: 'even',
    description: 'Takes even amounts.',
    safety: 'dangerous',
    parameters: z.object({ tag: z.string(), amount: z.int().refine((n) => n % 2 === 0, 'must be even') }),
    handler: ({ tag }) => effects.add(`even ${tag}`),
  });
  const send = defineTool({
    name: 'send',
    description: 'Sends money.',
    safety: 'dangerous',
    parameters: z.object({ tag: z.string(), cents: z.number().default(100_000) }),
    handler: ({ tag, cents }) => effects.add(`send ${tag} ${cents}`),
  });
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous' }), planTool(effects), even, send];
  fixture = await startFixture({
    agents: [defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools })],
  });
});

const start = (name: string, args: Record<string, string | number | string[]>): Promise<TurnHandle> =>
  fixture.start('payer', book.add({ toolCalls: [{ name, arguments: args }] }, readBack));

const modified = { callId: '1.1', decision: 'modified' } as const;

const misfits: [string, Record<string, string | number>, string][] = [
  ['a value over its maximum', { tag: 'x', amount: 5000 }, '/amount'],
  ['a value of another type', { tag: 'x', amount: 'much' }, '/amount'],
  ['a required field missing', { amount: 5 }, ''],
  ['a field nobody knows', { tag: 'x', tool: 'other_tool', callId: '1.2' }, ''],
  ['arguments over the limit', { tag: 'x'.repeat(129 * 1024) }, ''],
];

test('edits that do not fit are refused at once, with where and what, and the request is still open', async () => {
  const handle = await start('pay', { tag: 'misfit', amount: 50 });
  await waitFor(handle, '1.1');
  const before = (await eventsOf(handle)).length;
  for (const [, args, path] of misfits) {
    const verdict = await decide(handle, { ...modified, arguments: args });
    expect(verdict).toMatchObject({ accepted: false, code: 'validation' });
    const issues = verdict.accepted ? [] : (verdict.issues ?? []);
    expect(issues.some((issue) => issue.path.startsWith(path) && issue.message !== '')).toBe(true);
  }
  expect(await eventsOf(handle)).toHaveLength(before);
  expect(await openOf(handle)).toMatchObject({ count: 1 });
  await signalDecision(handle, { ...modified, arguments: { tag: 1 }, decisionId: 'by signal' });
  await until('a verdict', async () => (await verdictsOf(handle)).length > 0);
  expect(await verdictsOf(handle)).toEqual([expect.objectContaining({ verdict: 'validation' })]);
  expect(await decide(handle, { ...modified, arguments: { tag: 'fits' } })).toMatchObject({ accepted: true });
  await handle.result();
  expect(await effects.lines('misfit')).toEqual([]);
  expect(await effects.lines('fits')).toEqual(['pay fits']);
});

test('an edit that fits the JSON Schema but not a rule of the tool: it is asked about again, and nothing runs', async () => {
  const handle = await start('even', { tag: 'even', amount: 2 });
  await waitFor(handle, '1.1');
  const odd = { ...modified, arguments: { tag: 'even', amount: 3 } };
  expect(await decide(handle, odd)).toMatchObject({ accepted: true });
  const client = await connect({ address: testAddress() });
  const request = await until('the request to come back', async () => {
    const [call] = (await client.view(handle.workflowId)).calls;
    return call?.request?.note !== undefined && call.request;
  });
  await client.close();
  expect(request.note).toMatch(/amount.*must be even/);
  expect(await effects.lines('even')).toEqual([]);
  await handle.terminate();
});

test('an edit that leaves out what has a default: the model, the record and the handler have the same arguments', async () => {
  const handle = await start('send', { tag: 'bob', cents: 5 });
  await waitFor(handle, '1.1');
  await decide(handle, { ...modified, arguments: { tag: 'bob' } });
  const { answer } = await handle.result();
  expect(answer).toContain('cents: 5 → 100000');
  expect(await scheduledInputs(handle, 'send')).toMatchObject([
    { arguments: { tag: 'bob', cents: 100_000 } },
  ]);
  expect(await effects.lines('bob')).toEqual(['send bob 100000']);
});

test.each([
  ['the tool', { tool: 'propose_lines' }],
  ['the id of the call', { id: 'other' }],
  ['the effect', { effect: 'pure' }],
])('an edit cannot change %s', async (_, extra) => {
  const handle = await start('pay', { tag: 'fixed' });
  await waitFor(handle, '1.1');
  expect(await decide(handle, { ...modified, arguments: { tag: 'fixed' }, ...extra })).toMatchObject({
    accepted: false,
    code: 'malformed',
  });
  expect(await openOf(handle)).toMatchObject({ count: 1 });
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
});

test('the model reads what a person changed and why, and does not ask for the original again', async () => {
  const original = { name: 'pay', arguments: { tag: 'provenance', amount: 50 } };
  const handle = await fixture.start(
    'payer',
    book.add({ toolCalls: [original] }, (request) => {
      const told = toolTexts(request).join();
      const knows = told.includes('amount: 50 → 5') && told.includes('Do not ask for the original again');
      return knows ? { text: told } : { toolCalls: [original] };
    }),
  );
  await waitFor(handle, '1.1');
  const edit = { tag: 'provenance', amount: 5 };
  await decide(handle, { ...modified, arguments: edit, approver: 'ann', reason: 'too much' });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('ann changed the arguments of this call before it ran. Reason: too much');
  expect(answer).toContain('pay did provenance');
  expect(counts).toMatchObject({ calls: 1, requests: 1, modified: 1 });
  expect(await effects.lines('provenance')).toHaveLength(1);
});

test('history keeps three records apart: proposed, approved, effective', async () => {
  const handle = await start('pay', { tag: 'records', amount: 50 });
  await waitFor(handle, '1.1');
  const edit = { tag: 'records', amount: 5 };
  await decide(handle, { ...modified, arguments: edit, approver: 'ann' });
  await handle.result();
  const events = await eventsOf(handle);
  const thought = events.find((event) => event.activityTaskCompletedEventAttributes);
  const [output] = thought?.activityTaskCompletedEventAttributes?.result?.payloads ?? [];
  const update = events.find((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  const [approved] =
    update?.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.args?.payloads ?? [];
  const [effective] = await scheduledInputs(handle, 'pay');
  expect(output && defaultPayloadConverter.fromPayload(output)).toMatchObject({
    calls: [{ arguments: { tag: 'records', amount: 50 } }],
  });
  expect(approved && defaultPayloadConverter.fromPayload(approved)).toMatchObject({ arguments: edit });
  expect(effective).toMatchObject({
    arguments: edit,
    proposed: { tag: 'records', amount: 50 },
    decision: { decision: 'modified', approver: 'ann' },
  });
});

test('an edit of a file proposal asks again with a new plan; the old look is stale', async () => {
  const handle = await start('propose_lines', { tag: 'replan', lines: ['one', 'two'] });
  await waitFor(handle, '1.1');
  const seen = await seenOf(handle);
  const edit = { tag: 'replan', lines: ['three', 'four'] };
  const verdict = await decide(handle, { ...modified, arguments: edit, approver: 'ann', reason: 'better' });
  expect(verdict).toMatchObject({ accepted: true, asksAgain: true });
  await newPlan(handle, seen);
  const old = { callId: '1.1', decision: 'approved', ...seen } as const;
  expect(await decide(handle, old)).toMatchObject({ accepted: false, code: 'stale_args' });
  expect(await effects.lines('replan')).toEqual([]);
  const now = await seenOf(handle);
  await decide(handle, { callId: '1.1', decision: 'approved', hunks: ['2'], approver: 'bob', ...now });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('ann changed the arguments of this call before it ran. Reason: better');
  expect(answer).toContain('bob approved this call.');
  expect(counts).toMatchObject({ modified: 1 });
  expect(await effects.lines('replan')).toEqual(['propose_lines replan +four']);
});

test.each([
  ['the original', undefined, '+one', '[a1]'],
  ['the edit before', ['three'], '+three', 'changed the arguments'],
])('an edit that cannot be planned opens %s again, with a note', async (what, first, ran, told) => {
  const tag = `unplanned ${what}`;
  const handle = await start('propose_lines', { tag, lines: ['one'] });
  await waitFor(handle, '1.1');
  if (first !== undefined) {
    const seen = await seenOf(handle);
    await decide(handle, { ...modified, arguments: { tag, lines: first }, approver: 'ann' });
    await newPlan(handle, seen);
  }
  await decide(handle, { ...modified, arguments: { tag, lines: ['bad'] } });
  await until('the note', async () => (await openOf(handle))?.items[0]?.summary.includes('could not'));
  await decide(handle, { callId: '1.1', decision: 'approved', reason: '[a1]', approver: 'ann' });
  const { answer } = await handle.result();
  expect(answer).toContain(told);
  expect(await effects.lines(tag)).toEqual([`propose_lines ${tag} ${ran}`]);
});

test('a new preview without a plan leaves nothing of the old plan to run', async () => {
  const handle = await start('propose_lines', { tag: 'no plan', lines: ['one'] });
  await waitFor(handle, '1.1');
  await decide(handle, { ...modified, arguments: { tag: 'no plan', lines: [] } });
  await until('the new look', async () => (await openOf(handle))?.items[0]?.summary.includes('lines=[]'));
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await handle.result();
  expect(await effects.lines('no plan')).toEqual(['propose_lines no plan ']);
});
