import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TurnEvent } from '../../../src/history/events';
import { turnEventsOfJson } from '../../../src/history/from-json';
import { eventWords } from '../../../src/web/model/event-words';

const event = (fields: object): TurnEvent =>
  JSON.parse(JSON.stringify({ eventId: 1, at: '2026-11-21T12:00:00.000Z', ...fields }));
const of = { callId: '1.1', tool: 'pay' };
const yes = { judgement: { accepted: true } };

it.each([
  [{ type: 'turn_started' }, 'the turn started'],
  [{ type: 'turn_started', continuedFrom: 'r' }, 'a next run went on with it'],
  [{ type: 'forked', from: '2.1', world: 'dry' }, 'a fork from 2.1 on, in a dry world'],
  [{ type: 'thinking', step: 2 }, 'step 2: the model is asked'],
  [{ type: 'think_retried', step: 2, attempt: 3 }, 'step 2: it took 3 attempts'],
  [{ type: 'think_failed', step: 2 }, 'step 2: the model failed'],
  [{ type: 'step', step: 2, calls: [] }, 'step 2: the model replied'],
  [{ type: 'step', step: 2, calls: [{}] }, 'step 2: the model replied, one call'],
  [{ type: 'step', step: 2, calls: [{}, {}] }, 'step 2: the model replied, 2 calls'],
  [{ type: 'call_prepared', call: of }, '1.1 pay was prepared'],
  [{ type: 'request_opened', ...of }, '1.1 pay waits for a decision'],
  [{ type: 'request_expired', ...of }, '1.1 expired'],
  [{ type: 'signal_recorded', signal: 'approval' }, 'something: a decision is on record'],
  [{ type: 'decision', ...of, ...yes, decision: 'approved', approver: 'ann' }, '1.1: approved by ann'],
  [
    { type: 'decision', callId: '', approver: 'ann', judgement: { accepted: false, code: 'malformed' } },
    'some call: something unreadable by ann, refused: malformed',
  ],
  [{ type: 'call_started', ...of }, '1.1 pay starts'],
  [{ type: 'call_ended', ...of, result: { success: true, metadata: {} } }, '1.1 pay is done'],
  [
    { type: 'call_ended', ...of, result: { success: false, metadata: {}, error: { code: 'timeout' } } },
    '1.1 pay failed: timeout',
  ],
  [
    { type: 'call_ended', ...of, result: { success: true, metadata: { dry: 'would_run' } } },
    '1.1 pay would run',
  ],
  [
    { type: 'call_ended', ...of, result: { success: true, metadata: { dry: 'would_ask' } } },
    '1.1 pay would ask a person',
  ],
  [{ type: 'call_lost', ...of }, '1.1 pay: its outcome is unknown'],
  [{ type: 'verifying', ...of }, '1.1: the tool is asked whether it happened'],
  [{ type: 'verified', ...of, outcome: 'cannot_tell' }, '1.1: the tool says that it cannot tell'],
  [{ type: 'in_doubt', ...of }, '1.1 pay is in doubt'],
  [{ type: 'resolved', ...of, ...yes, resolution: 'happened', approver: 'bob' }, '1.1: happened by bob'],
  [{ type: 'outcome_reported', ...of, settles: false }, '1.1 reported its outcome too late'],
  [{ type: 'cancel_requested' }, 'somebody asked to cancel the turn'],
  [{ type: 'abandoned', approver: 'ann' }, 'ann gave the turn up'],
  [{ type: 'continued_as_new' }, 'the run ended, the next one goes on'],
  [{ type: 'reset' }, 'an operator reset the turn'],
  [{ type: 'task_failed' }, 'the workflow code failed and is tried again'],
  [{ type: 'turn_ended', status: 'step_limit' }, 'the turn ended: step limit'],
])('%j', (fields, words) => {
  expect(eventWords(event(fields))).toBe(words);
});

const folder = join(__dirname, '..', '..', 'history', 'recorded');

it.each(readdirSync(folder))('has words for every event of %s', async (name) => {
  const events = await turnEventsOfJson(readFileSync(join(folder, name), 'utf8'));
  const words = events.map(eventWords);
  expect(words.length).toBeGreaterThan(3);
  for (const one of words) expect(one).toMatch(/^[^{}]+$/);
  expect(words.join()).not.toContain('undefined');
});
