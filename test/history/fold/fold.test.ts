import { UPDATES } from '../../../src/contract/names';
import { accepted, ask, item, result, run, Script, thinkOutput } from '../script';

test('a turn with nothing but an answer', () => {
  const script = new Script().started('hello').task().think(1, []);
  script.add({ kind: 'completed', result: { status: 'answered', answer: 'hi', steps: 1 } });
  expect(script.fold()).toMatchObject([
    {
      type: 'turn_started',
      eventId: 1,
      at: '2026-01-01T00:00:01.000Z',
      turn: 't',
      runId: 'r',
      agent: 'a',
      prompt: 'hello',
      taskQueue: 'q',
    },
    { type: 'thinking', step: 1 },
    { type: 'step', step: 1, text: 'let me', model: 'm', finishReason: 'stop', calls: [] },
    { type: 'turn_ended', status: 'answered', answer: 'hi', result: { steps: 1 } },
  ]);
});

test('the next run tells no second decision of the same id', () => {
  const decision = { callId: '1.1', decision: 'approved', decisionId: 'd-1', approver: 'ann' };
  const verdict = { ...accepted('1.1', 'approved'), decisionId: 'd-1' };
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')]);
  script.update('decide', decision, verdict);
  script.add({ kind: 'continued_as_new', newRunId: 'r2' });
  const input = { agent: 'a', prompt: 'the prompt' };
  script.add({ kind: 'started', turn: 't', runId: 'r2', continuedFrom: 'r', taskQueue: 'q', input });
  script.update('decide', decision, verdict);
  expect(script.told('decision')).toHaveLength(1);
});

test('a step tells its calls, and ends those that cannot run', () => {
  const bad = result('1.2', { success: false, content: 'no such tool' });
  const invalid = {
    kind: 'invalid' as const,
    callId: '1.2',
    id: 'i',
    tool: 'nope',
    proposed: { x: 1 },
    result: bad,
  };
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1'), invalid, ask('1.3')]);
  expect(script.told('step')[0]?.calls).toMatchObject([
    { callId: '1.1', kind: 'run', tool: 'look', arguments: { n: 1 } },
    { callId: '1.2', kind: 'invalid', arguments: { x: 1 }, error: 'no such tool' },
    { callId: '1.3', kind: 'ask' },
  ]);
  expect(script.told('call_ended')).toMatchObject([
    { callId: '1.2', result: bad, attempts: 0, durationMs: null, origin: 'turn' },
  ]);
});

test('a call that runs: started, ended, how long and how often', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1')]);
  const input = {
    callId: '1.1',
    id: 'i',
    tool: 'look',
    callKey: 'k',
    generation: 0,
    arguments: { n: 1 },
    effect: 'pure',
  };
  const scheduledEventId = script.scheduled('call-1.1-0', 'look', input);
  script.wait(500).add({ kind: 'activity_started', scheduledEventId, attempt: 3 });
  script.done(scheduledEventId, { result: result('1.1'), contentDigest: 'x' });
  expect(script.told('call_started')).toMatchObject([
    { callId: '1.1', tool: 'look', generation: 0, effect: 'pure', taskQueue: 'q' },
  ]);
  expect(script.told('call_ended')).toMatchObject([{ durationMs: 2500, attempts: 3, origin: 'handler' }]);
});

test('the model takes more than one attempt, then fails for good', () => {
  const script = new Script().started().task();
  const scheduledEventId = script.thinkScheduled(1);
  const lastFailure = {
    message: 'wrapped',
    kind: 'other' as const,
    details: [],
    cause: { message: 'busy', kind: 'application' as const, details: [] },
  };
  script.add({ kind: 'activity_started', scheduledEventId, attempt: 10, lastFailure });
  script.fails(scheduledEventId, { message: 'bad key', type: 'auth' });
  script.add({
    kind: 'failed',
    failure: { message: 'bad key', kind: 'application', type: 'countersign.model', details: [] },
  });
  expect(script.fold().slice(2)).toMatchObject([
    { type: 'think_retried', step: 1, attempt: 10, lastFailure: 'busy' },
    { type: 'think_failed', step: 1, message: 'bad key', failureType: 'auth' },
    { type: 'turn_ended', status: 'failed', error: { message: 'bad key', type: 'countersign.model' } },
  ]);
});

test('local calls: started and ended by one marker', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1')]);
  const of = { kind: 'local_activity' as const, activityType: 'look', backsOff: false };
  script.add({ ...of, attempt: 1, backsOff: true, result: undefined, summary: '1.1 look n=1' });
  script.add({ ...of, attempt: 2, result: { result: result('1.1'), contentDigest: 'x' } });
  expect(script.told('call_started', 'call_ended')).toMatchObject([
    { type: 'call_started', callId: '1.1' },
    { type: 'call_ended', callId: '1.1', attempts: 2, durationMs: 5, origin: 'handler' },
  ]);
});

test('a local call that failed is known by its summary', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1')]);
  const failure = { message: 'x', kind: 'timeout' as const, timeout: 'START_TO_CLOSE' as const, details: [] };
  const of = { kind: 'local_activity' as const, activityType: 'look', backsOff: false, attempt: 1 };
  script.add({ ...of, result: undefined, summary: '1.1 look n=1', failure });
  script.add({ ...of, result: undefined, failure });
  expect(script.told('call_ended')).toMatchObject([
    { callId: '1.1', origin: 'failure', result: { error: { code: 'timeout' } } },
  ]);
});

test('a turn that continues as new keeps its prompt and forgets nothing else that counts', () => {
  const script = new Script().started('the prompt').task().think(1, []);
  script.add({ kind: 'continued_as_new', newRunId: 'r2' });
  const input = { agent: 'a', prompt: '', carried: { transcript: [] } };
  script.add({ kind: 'started', turn: 't', runId: 'r2', continuedFrom: 'r', taskQueue: 'q', input });
  script.task().think(2, []);
  expect(script.told('continued_as_new', 'turn_started').slice(1)).toMatchObject([
    { type: 'continued_as_new', newRunId: 'r2' },
    { type: 'turn_started', runId: 'r2', continuedFrom: 'r', prompt: 'the prompt' },
  ]);
});

test.each<[string, (script: Script) => void, boolean]>([
  ['to another build', () => undefined, true],
  [
    'because its history was long, though it was asked to move before',
    (script) => void script.scheduled('x', 'look'),
    false,
  ],
])('a turn continues as new %s', (_, between, moved) => {
  const script = new Script().started().task();
  const update = { updateId: 'u', name: UPDATES.move, input: undefined, identity: 'me' };
  script.add({ kind: 'update_accepted', ...update });
  script.add({ kind: 'update_completed', updateId: 'u', value: undefined });
  between(script);
  script.add({ kind: 'continued_as_new', newRunId: 'r2' });
  const [event] = script.told('continued_as_new');
  expect(event?.moved).toBe(moved ? true : undefined);
});

test('where the first run is gone the prompt comes from what was carried along', () => {
  const carried = { transcript: [{ kind: 'words', text: 'first words' }] };
  const script = new Script().started('', { carried });
  expect(script.told('turn_started')[0]?.prompt).toBe('first words');
});

test.each([
  ['terminated', { kind: 'terminated' as const, reason: 'bye', identity: 'me' }, 'terminated by me: bye'],
  ['terminated', { kind: 'terminated' as const, reason: '', identity: '' }, 'terminated'],
  ['timed_out', { kind: 'timed_out' as const }, 'the turn ran out of time'],
  ['cancelled', { kind: 'canceled' as const }, 'the turn was cancelled'],
])('ends from outside: %s', (status, end, message) => {
  const script = new Script().started();
  script.add(end);
  expect(script.told('turn_ended')).toMatchObject([{ status, error: { message } }]);
});

test('a failing workflow task and a reset are shown', () => {
  const script = new Script().started();
  script.add({ kind: 'task_failed', message: 'nondeterminism' });
  script.add({ kind: 'reset', baseRunId: 'r', newRunId: 'r2', message: 'me: oops' });
  expect(script.fold().slice(1)).toMatchObject([
    { type: 'task_failed', message: 'nondeterminism' },
    { type: 'reset', baseRunId: 'r', newRunId: 'r2', reason: 'me: oops' },
  ]);
});

test('payloads that cannot be read give a timeline with gaps, not an error', () => {
  const script = new Script();
  script.add({ kind: 'started', turn: 't', runId: 'r', taskQueue: 'q', input: undefined });
  const think = script.thinkScheduled(1);
  script.done(think, undefined).task();
  script.add({ kind: 'memo', fields: { open: undefined, verdicts: 4 } });
  const call = script.scheduled('call-1.1-0', 'pay');
  script.done(call, undefined);
  script.scheduled('x', 'strange');
  script.add({ kind: 'completed', result: undefined });
  expect(script.fold().map((event) => event.type)).toEqual([
    'turn_started',
    'thinking',
    'step',
    'call_started',
    'call_ended',
    'turn_ended',
  ]);
  expect(script.told('call_started')[0]).toMatchObject({ callId: '1.1', tool: 'pay', effect: 'unsafe' });
});

test('a think output of a later release with more fields is read all the same', () => {
  const script = new Script().started().task();
  const scheduled = script.thinkScheduled(1);
  script.done(scheduled, { ...thinkOutput([run('1.1')]), later: true });
  expect(script.told('step')[0]?.calls).toHaveLength(1);
});
