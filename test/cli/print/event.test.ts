import type { ToolResult } from '../../../src/contract/result';
import { markLate } from '../../../src/tools/outcome';
import type { TurnEvent } from '../../../src/history/events';
import { eventLines } from '../../../src/cli/print/event';
import { widthOf } from '../../../src/contract/text/columns';
import { AT, request, testScreen } from '../support';

const head = { eventId: 1, at: AT };
const said = { ...head, approver: 'ann', channel: 'cli', door: 'update' as const, identity: 'x@y' };

const result = (extra: Partial<ToolResult> = {}): ToolResult => ({
  id: 'm',
  callId: '1.1',
  tool: 'pay',
  server: 'local',
  arguments: {},
  success: true,
  content: 'paid',
  contentType: 'text',
  metadata: { execution_time_ms: 1, safety_level: 'safe', approved: false, attempt: 1, timestamp: AT },
  ...extra,
});

const ended = {
  ...head,
  type: 'call_ended' as const,
  callId: '1.1',
  tool: 'pay',
  attempts: 1,
  origin: 'handler' as const,
};
const started = {
  ...head,
  type: 'call_started' as const,
  callId: '1.1',
  tool: 'pay',
  generation: 0,
  arguments: { amount: 10 },
  effect: 'unsafe' as const,
  taskQueue: 'q',
};
const step = { ...head, type: 'step' as const, step: 1, model: 'm', finishReason: 'stop' };
const proposed = { callId: '1.1', id: 'm', tool: 'pay', kind: 'run' as const, arguments: {} };

const TOLD: [string, TurnEvent, string][] = [
  [
    'a start',
    {
      ...head,
      type: 'turn_started',
      turn: 't-1',
      runId: 'r',
      agent: 'clerk',
      prompt: 'pay\nann',
      taskQueue: 'q',
    },
    'turn     t-1, agent clerk: pay\\nann',
  ],
  ['thinking', { ...head, type: 'thinking', step: 2 }, 'step 2   the model is asked'],
  [
    'a retried model',
    { ...head, type: 'think_retried', step: 1, attempt: 3, lastFailure: 'slow' },
    'step 1   it took 3 attempts (slow)',
  ],
  [
    'a failed model',
    { ...head, type: 'think_failed', step: 1, message: 'bad key' },
    'step 1   the model failed: bad key',
  ],
  [
    'words beside calls',
    { ...step, text: 'I look first', calls: [proposed] },
    'step 1   the model says: I look first',
  ],
  ['a request', request(), '1.1      waits for a decision: pay amount=10 to=ann'],
  [
    'a signal on record',
    { ...head, type: 'signal_recorded', signal: 'approval', callId: '1.1', approver: 'ann', identity: 'x' },
    '1.1      a decision of ann is on record and waits for a worker',
  ],
  [
    'an approval',
    {
      ...said,
      type: 'decision',
      callId: '1.1',
      decision: 'approved',
      hunks: ['1'],
      judgement: { accepted: true },
    },
    '1.1      approved by ann (as claimed), hunks 1',
  ],
  [
    'a denial',
    {
      ...said,
      type: 'decision',
      callId: '1.1',
      decision: 'denied',
      reason: 'no',
      judgement: { accepted: true },
    },
    '1.1      denied by ann (as claimed): no',
  ],
  [
    'an approval of somebody who was signed in',
    {
      ...said,
      ...{ type: 'decision', callId: '1.1', decision: 'approved', reason: 'fine' },
      ...{ authenticated: true, judgement: { accepted: true } },
    },
    '1.1      approved by ann (signed in): fine',
  ],
  [
    'a name that claims to be signed in',
    {
      ...said,
      ...{ type: 'decision', callId: '1.1', decision: 'approved', judgement: { accepted: true } },
      approver: 'ann (signed in)',
    },
    '1.1      approved by ann (signed in) (as claimed)',
  ],
  [
    'a refusal',
    {
      ...said,
      type: 'decision',
      callId: '1.1',
      decision: 'approved',
      judgement: { accepted: false, code: 'expired', message: 'late' },
    },
    '1.1      approved by ann (as claimed) was refused, expired: late',
  ],
  [
    'an unreadable decision',
    { ...said, type: 'decision', callId: '', judgement: { accepted: false, code: 'malformed' } },
    '?        a decision by ann (as claimed) was refused, malformed',
  ],
  [
    'an edit',
    {
      ...said,
      type: 'decision',
      callId: '1.1',
      decision: 'modified',
      asksAgain: true,
      judgement: { accepted: true },
    },
    '1.1      modified by ann (as claimed); it needs a new look',
  ],
  [
    'a verdict that is gone',
    { ...said, type: 'decision', callId: '1.1', decision: 'approved', judgement: { accepted: 'unknown' } },
    '1.1      approved by ann (as claimed); its verdict is no longer on record',
  ],
  ['expiry', { ...head, type: 'request_expired', callId: '1.1' }, '1.1      expired: nobody decided in time'],
  ['a call', started, '1.1      runs: pay amount=10'],
  [
    'an approved call',
    { ...started, decision: { decision: 'approved', approver: 'ann' } },
    '1.1      runs: pay',
  ],
  ['a call once more', { ...started, generation: 1 }, '1.1      runs once more: pay amount=10'],
  ['a result', { ...ended, result: result(), durationMs: 12 }, '1.1      done: paid (12 ms)'],
  [
    'a result that came late',
    { ...ended, result: markLate(result(), 'its time was over'), durationMs: 12 },
    '1.1      done, late: [Late: this call succeeded, but only after its time was over.] … 2 more lines (12 ms)',
  ],
  [
    'a long result',
    { ...ended, result: result({ content: 'a\nb\nc\n' }), durationMs: null },
    '1.1      done: a … 2 more lines',
  ],
  [
    'an error',
    {
      ...ended,
      result: result({ success: false, error: { code: 'timeout', message: 'too slow' } }),
      durationMs: 30_000,
    },
    '1.1      timeout: too slow (30 s)',
  ],
  [
    'a lost call',
    { ...head, type: 'call_lost', callId: '1.1', tool: 'pay', message: 'gone' },
    '1.1      its outcome is unknown: gone',
  ],
  [
    'a check',
    { ...head, type: 'verifying', callId: '1.1' },
    '1.1      the tool is asked whether it happened',
  ],
  [
    'what the check said',
    { ...head, type: 'verified', callId: '1.1', outcome: 'cannot_tell' },
    '1.1      the tool cannot tell',
  ],
  [
    'doubt',
    { ...head, type: 'in_doubt', callId: '1.1', callKey: 'k', tool: 'pay', message: 'gone', summary: '' },
    '1.1      in doubt, a person has to resolve it: gone',
  ],
  [
    'a resolution',
    { ...said, type: 'resolved', callId: '1.1', resolution: 'did-not', judgement: { accepted: true } },
    '1.1      did-not by ann (as claimed)',
  ],
  [
    'a late outcome',
    { ...head, type: 'outcome_reported', callId: '1.1', generation: 0, result: result(), settles: false },
    '1.1      reported too late to count: done: paid',
  ],
  [
    'cancelling',
    { ...head, type: 'cancel_requested', identity: 'x@y', reason: 'enough' },
    'turn     was asked to end by x@y (enough)',
  ],
  [
    'giving up',
    { ...head, type: 'abandoned', approver: 'ann', identity: 'x' },
    'turn     was given up by ann',
  ],
  [
    'a new run',
    { ...head, type: 'continued_as_new', newRunId: 'r' },
    'turn     continues as new: its history was long',
  ],
  [
    'a reset',
    { ...head, type: 'reset', baseRunId: 'a', newRunId: 'b', reason: 'oops' },
    'turn     was reset by an operator (oops)',
  ],
  [
    'other code',
    { ...head, type: 'task_failed', message: 'TMPRL1100' },
    'turn     the workflow code failed and is tried again: TMPRL1100',
  ],
  [
    'a failed end',
    { ...head, type: 'turn_ended', status: 'timed_out', error: { message: 'too long' } },
    'turn     timed out: too long',
  ],
];

describe('events as lines', () => {
  it.each(TOLD)('%s', (_name, event, line) => {
    const [first = '', ...rest] = eventLines(event, testScreen(120));
    expect(rest).toEqual([]);
    expect(first).toMatch(/^\d\d:\d\d:\d\d {2}/);
    expect(first.slice(10)).toBe(line);
  });

  it.each<[string, TurnEvent]>([
    ['an answer, which comes with the end', { ...step, text: 'done', calls: [] }],
    ['calls without words', { ...step, text: ' ', calls: [proposed] }],
    ['a prepared call', { ...head, type: 'call_prepared', callId: proposed.callId, call: proposed }],
    [
      'a run that goes on',
      {
        ...head,
        type: 'turn_started',
        turn: 't',
        runId: 'r',
        agent: 'a',
        prompt: 'p',
        taskQueue: 'q',
        continuedFrom: 'r0',
      },
    ],
  ])('says nothing of %s', (_name, event) => {
    expect(eventLines(event, testScreen())).toEqual([]);
  });

  it('prints the whole answer, made visible', () => {
    const event: TurnEvent = {
      ...head,
      type: 'turn_ended',
      status: 'answered',
      answer: 'line 1\nline\x1b[2J 2\n',
    };
    expect(eventLines(event, testScreen()).slice(1)).toEqual(['', 'line 1', 'line\\x1b[2J 2', '']);
  });

  it.each(TOLD)('fits 40 columns, without the time: %s', (_name, event) => {
    for (const line of eventLines(event, testScreen(40))) expect(widthOf(line)).toBeLessThanOrEqual(40);
  });

  it.each<[string, TurnEvent]>([
    [
      'a prompt',
      {
        ...head,
        type: 'turn_started',
        turn: 't',
        runId: 'r',
        agent: '\x1b]0;x\x07',
        prompt: '\x1b[2J',
        taskQueue: 'q',
      },
    ],
    [
      'an approver',
      {
        ...said,
        approver: '\x9b2J',
        reason: '\r',
        type: 'decision',
        callId: '1.1',
        decision: 'approved',
        judgement: { accepted: true },
      },
    ],
    ['arguments', { ...started, arguments: { '\x1b[8m': '\u202e' } }],
    ['a result', { ...ended, result: result({ content: '\x1b[2J\r\u200b' }), durationMs: 1 }],
    ['a summary', request({ summary: '1.1 pay to=\x1b[2J' })],
    ['an error', { ...head, type: 'think_failed', step: 1, message: '\x1b[31m' }],
  ])('never prints a control of %s', (_name, event) => {
    expect(eventLines(event, testScreen()).join('\n')).not.toMatch(
      /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]/,
    );
  });
});
