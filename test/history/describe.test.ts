import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ENDINGS } from '../../src/contract/call-texts';
import type { TurnEvent } from '../../src/history/events';
import { turnEventsOfJson } from '../../src/history/exported';
import { describeEvent, truncate } from '../../src/history/describe';

const event = (fields: object): TurnEvent =>
  JSON.parse(JSON.stringify({ eventId: 1, at: '2026-11-21T12:00:00.000Z', ...fields }));
const of = { callId: '1.1', tool: 'pay' };
const yes = { judgement: { accepted: true } };

const head = { label: '1.1' };
const said = { callId: '1.1', approver: 'ann', channel: 'cli', door: 'update', identity: 'x@y' };
const result = { success: true, content: 'paid\n', arguments: { cents: 5 }, metadata: {} };
const end = { type: 'call_ended', ...of, durationMs: null, origin: 'handler' };
const failed = { ...result, success: false, error: { code: 'timeout', message: 'too slow' } };

test.each<[object, ReturnType<typeof describeEvent>]>([
  [
    { type: 'turn_started', turn: 't', agent: 'clerk', prompt: 'pay' },
    { label: 'turn', text: 't, agent clerk: pay' },
  ],
  [
    { type: 'about', prompt: 'refund of A-77' },
    { label: 'turn', text: 'is about refund of A-77', tone: 'quiet' },
  ],
  [
    { type: 'turn_started', continuedFrom: 'r' },
    { label: 'turn', text: 'goes on in this run', minor: true },
  ],
  [
    { type: 'forked', of: 't', from: '2.1', world: 'dry', changed: 'decision', taken: [{ kind: 'result' }] },
    {
      label: 'fork',
      text: 'a fork of t from 2.1 on, in a dry world; another decision; 1 result taken from the record',
    },
  ],
  [
    { type: 'thinking', step: 2 },
    { label: 'step 2', text: 'the model is asked', tone: 'quiet' },
  ],
  [
    { type: 'think_retried', step: 2, attempt: 3, lastFailure: 'slow' },
    { label: 'step 2', text: 'it took 3 attempts (slow)', tone: 'ask' },
  ],
  [
    { type: 'think_failed', step: 2, message: 'no key' },
    { label: 'step 2', text: 'the model failed: no key', tone: 'bad' },
  ],
  [
    { type: 'step', step: 2, text: 'done', calls: [] },
    { label: 'step 2', text: 'the model answers', minor: true },
  ],
  [
    { type: 'step', step: 2, text: '', calls: [{}, {}] },
    { label: 'step 2', text: 'the model asks for 2 calls', minor: true },
  ],
  [
    { type: 'step', step: 2, text: 'I look first', calls: [{}] },
    { label: 'step 2', text: 'the model says: I look first' },
  ],
  [
    { type: 'call_prepared', call: { ...of, arguments: { cents: 5 } } },
    { ...head, text: 'is prepared: pay cents=5', minor: true },
  ],
  [
    { type: 'request_opened', ...of, summary: '1.1 pay cents=5' },
    { ...head, text: 'waits for a decision: pay cents=5', tone: 'ask' },
  ],
  [
    { type: 'request_expired', ...of },
    { ...head, text: 'expired: nobody decided in time', tone: 'bad' },
  ],
  [
    { type: 'signal_recorded', signal: 'approval' },
    { label: '?', text: 'a decision of somebody is on record and waits for a worker' },
  ],
  [
    { type: 'signal_recorded', signal: 'resolution', callId: '1.1', approver: 'ann' },
    { ...head, text: 'a resolution of ann is on record and waits for a worker' },
  ],
  [
    { type: 'decision', ...said, ...yes, decision: 'approved', authenticated: true, reason: 'fine' },
    { ...head, text: 'approved by ann (signed in): fine', tone: 'good' },
  ],
  [
    { type: 'decision', ...said, ...yes, decision: 'denied' },
    { ...head, text: 'denied by ann (as claimed)', tone: 'bad' },
  ],
  [
    { type: 'decision', ...said, ...yes, decision: 'approved', hunks: [] },
    { ...head, text: 'approved by ann (as claimed), but none of its hunks', tone: 'bad' },
  ],
  [
    { type: 'decision', ...said, ...yes, decision: 'approved', hunks: ['1', '3'] },
    { ...head, text: 'approved by ann (as claimed), hunks 1, 3', tone: 'good' },
  ],
  [
    { type: 'decision', ...said, ...yes, decision: 'modified', asksAgain: true, unbound: true },
    {
      ...head,
      text: 'modified by ann (as claimed), not bound to what was seen; it needs a new look',
      tone: 'good',
    },
  ],
  [
    { type: 'decision', ...said, ...yes, decision: 'ask-again', asksAgain: true, reason: 'all left' },
    { ...head, text: 'ask-again by ann (as claimed); it needs a new look: all left', tone: 'good' },
  ],
  [
    { type: 'decision', ...said, callId: '', judgement: { accepted: false, code: 'malformed' } },
    { label: '?', text: 'a decision by ann (as claimed) was refused, malformed', tone: 'bad' },
  ],
  [
    { type: 'decision', ...said, decision: 'approved', judgement: { accepted: 'unknown' } },
    {
      ...head,
      text: 'approved by ann (as claimed); its verdict is no longer on record',
      tone: 'bad',
    },
  ],
  [
    { type: 'decision', ...said, ...yes, decision: 'approved', reapplied: { reason: 'oops' } },
    { ...head, text: 'approved by ann (as claimed), applied again by the reset (oops)', tone: 'good' },
  ],
  [
    { type: 'decision_void', ...of, message: 'the plan changed' },
    { ...head, text: 'does not run: the plan changed', tone: 'ask' },
  ],
  [
    { type: 'call_started', ...of, generation: 1, arguments: { cents: 5 } },
    { ...head, text: 'runs once more: pay cents=5' },
  ],
  [
    { type: 'call_started', ...of, generation: 0, arguments: {}, decision: { decision: 'approved' } },
    { ...head, text: 'runs: pay' },
  ],
  [
    { type: 'call_waits', ...of, message: 'no tool' },
    { ...head, text: 'waits: no tool', tone: 'ask' },
  ],
  [
    { type: 'call_held', ...of, message: 'ann paused calls of pay: an incident' },
    { ...head, text: 'is held and does not start: ann paused calls of pay: an incident', tone: 'ask' },
  ],
  [
    { type: 'call_resumed', ...of },
    { ...head, text: 'goes on: no pause holds it any more' },
  ],
  [
    { ...end, result, durationMs: 1500 },
    { ...head, text: 'done: paid (1.5 s)', tone: 'good' },
  ],
  [
    { ...end, result: { ...result, content: 'a\nb\nc' }, origin: 'record' },
    { ...head, text: 'given: done: a … 2 more lines', tone: 'good' },
  ],
  [
    { ...end, result: { ...result, metadata: { late: true } } },
    { ...head, text: 'done, late: paid', tone: 'good' },
  ],
  [
    { ...end, result: { ...failed, error: ENDINGS.askerWithdrew } },
    { ...head, text: `cancelled: ${ENDINGS.askerWithdrew.message}`, tone: 'bad' },
  ],
  [
    { ...end, result: failed },
    { ...head, text: 'timeout: too slow', tone: 'bad' },
  ],
  [
    { ...end, result: { ...result, metadata: { dry: 'would_run' } } },
    { ...head, text: 'would run: pay cents=5', tone: 'ask' },
  ],
  [
    { ...end, result: { ...result, metadata: { dry: 'would_ask' } } },
    { ...head, text: 'would ask a person, then run: pay cents=5', tone: 'ask' },
  ],
  [
    { type: 'call_lost', ...of, message: 'gone' },
    { ...head, text: 'its outcome is unknown: gone', tone: 'ask' },
  ],
  [
    { type: 'verifying', ...of },
    { ...head, text: 'the tool is asked whether it happened' },
  ],
  [
    { type: 'verified', ...of, outcome: 'cannot_tell', message: 'down' },
    { ...head, text: 'the tool cannot tell: down' },
  ],
  [
    { type: 'in_doubt', ...of, message: 'gone' },
    { ...head, text: 'in doubt, a person has to resolve it: gone', tone: 'ask' },
  ],
  [
    { type: 'resolved', ...said, ...yes, resolution: 'happened' },
    { ...head, text: 'happened by ann (as claimed)', tone: 'good' },
  ],
  [
    { type: 'outcome_reported', ...of, settles: false, result },
    { ...head, text: 'reported too late to count: done: paid' },
  ],
  [
    { type: 'cancel_requested', identity: 'x@y', reason: 'enough' },
    { label: 'turn', text: 'was asked to end by x@y (enough)', tone: 'ask' },
  ],
  [
    { type: 'abandoned', approver: 'ann' },
    { label: 'turn', text: 'was given up by ann', tone: 'bad' },
  ],
  [
    { type: 'continued_as_new' },
    { label: 'turn', text: 'continues as new: its history was long', tone: 'quiet' },
  ],
  [
    { type: 'reset', reason: '' },
    { label: 'turn', text: 'was reset by an operator', tone: 'ask' },
  ],
  [
    { type: 'task_failed', message: 'TypeError' },
    { label: 'turn', text: 'the workflow code failed and is tried again: TypeError', tone: 'bad' },
  ],
  [
    { type: 'turn_ended', status: 'answered', answer: '' },
    { label: 'turn', text: 'answered: the model had nothing more to say', tone: 'good' },
  ],
  [
    { type: 'turn_ended', status: 'failed', error: { message: 'no key' } },
    { label: 'turn', text: 'failed: no key', tone: 'bad' },
  ],
])('%j', (fields, line) => {
  expect(describeEvent(event(fields))).toEqual(line);
});

test('a long text is cut between characters', () => {
  expect(truncate('a'.repeat(160))).toHaveLength(160);
  expect(truncate('😀'.repeat(161))).toBe(`${'😀'.repeat(160)}…`);
});

const folder = join(__dirname, '..', 'histories');

it.each(readdirSync(folder))('has words for every event of %s', async (name) => {
  const events = await turnEventsOfJson(readFileSync(join(folder, name), 'utf8'));
  const words = events.map(describeEvent);
  expect(words.length).toBeGreaterThan(3);
  for (const { label, text } of words) expect(`${label}: ${text}`).not.toMatch(/undefined|\[object/);
});
