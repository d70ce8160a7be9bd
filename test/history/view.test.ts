import { allowedBy } from '../../src/history/decisions';
import { createView, keyOfStart, viewOf } from '../../src/history/view';
import type { TurnEvent } from '../../src/history/events';
import { rule } from '../authority/votes/support';
import { accepted, ask, item, run, Script } from './script';

const asked = () =>
  new Script()
    .started('do it')
    .task()
    .think(1, [ask('1.1'), ask('1.2'), run('1.3')])
    .open([item('1.1'), item('1.2')]);

test('open requests with all that an approver needs', () => {
  const view = viewOf(asked().fold());
  expect(view).toMatchObject({
    turn: 't',
    runId: 'r',
    agent: 'a',
    prompt: 'do it',
    status: 'waiting',
    endedAt: null,
  });
  expect(view.requests.map(({ callId, callKey }) => [callId, callKey])).toEqual([
    ['1.1', 'key:1.1'],
    ['1.2', 'key:1.2'],
  ]);
  expect(view.calls.map((call) => call.phase)).toEqual(['request', 'request', 'ready']);
});

test.each([
  ['approved', { decision: 'approved' }, { phase: 'ready' }, { n: 1 }],
  ['modified', { decision: 'modified', arguments: { n: 9 } }, { phase: 'ready' }, { n: 9 }],
  ['denied', { decision: 'denied' }, { phase: 'done', outcome: 'denied' }, { n: 1 }],
  ['no hunk', { decision: 'approved', hunks: [] }, { phase: 'done', outcome: 'denied' }, { n: 1 }],
])('%s closes the request', (_, said, now, effective) => {
  const script = asked().update('decide', { callId: '1.1', ...said }, accepted('1.1', said.decision));
  const view = viewOf(script.fold());
  expect(view.requests.map((request) => request.callId)).toEqual(['1.2']);
  expect(view.calls[0]).toMatchObject({ ...now, effective, arguments: { n: 1 } });
  expect(view.calls[0]?.decisions).toHaveLength(1);
});

test('who let a call run, and with which key', () => {
  const said = { callId: '1.1', decision: 'approved', approver: 'ann' };
  const script = asked().update('decide', said, accepted('1.1', 'approved'));
  const [waits] = viewOf(script.fold()).calls;
  expect(waits && keyOfStart(waits)).toBeUndefined();
  script.call(ask('1.1'));
  const [runs] = viewOf(script.fold()).calls;
  expect(runs && keyOfStart(runs)).toBe('key:1.1:0');
  expect(runs && allowedBy(runs)).toMatchObject({ decision: 'approved' });
});

test('a refused decision is kept and changes nothing', () => {
  const refused = { accepted: false, code: 'stale_args', message: 'look again', callId: '1.1' };
  const view = viewOf(asked().update('decide', { callId: '1.1', decision: 'approved' }, refused).fold());
  expect(view.calls[0]).toMatchObject({
    phase: 'request',
    decisions: [{ judgement: { accepted: false } }],
  });
});

test('a decision on a call that is none is not a call', () => {
  const script = asked().signal('approval', { callId: '9.9', decision: 'approved' });
  expect(viewOf(script.fold()).unjudged).toBe(1);
  const view = viewOf(
    script
      .task()
      .verdicts([{ callId: '9.9', verdict: 'unknown_call', decisionId: '', at: '' }])
      .fold(),
  );
  expect(view.calls).toHaveLength(3);
  expect(view.unjudged).toBe(0);
});

test('a call in doubt wins over requests', () => {
  const script = asked().update(
    'decide',
    { callId: '1.1', decision: 'approved' },
    accepted('1.1', 'approved'),
  );
  script.fails(script.call(ask('1.1')), { message: 'pipe' });
  expect(viewOf(script.fold()).calls[0]?.phase).toBe('in_doubt');
  const view = viewOf(script.open([item('1.1', { kind: 'in_doubt' }), item('1.2')]).fold());
  expect(view.status).toBe('in_doubt');
  expect(view.inDoubt.map((doubt) => doubt.callId)).toEqual(['1.1']);
});

test('an ended turn has nothing open', () => {
  const script = asked();
  script.add({ kind: 'terminated', reason: 'bye', identity: 'me' });
  expect(viewOf(script.fold())).toMatchObject({
    status: 'terminated',
    requests: [],
    inDoubt: [],
    error: { message: 'terminated by me: bye' },
  });
});

describe('a reset', () => {
  const reset = (eventId: number): TurnEvent => {
    const at = '2026-01-01T01:00:00.000Z';
    return { type: 'reset', eventId, at, baseRunId: 'r', newRunId: 'r2', reason: 'me' };
  };

  test('seen live takes back what came at its event or later', () => {
    const events = asked().fold();
    const step = events.find((event) => event.type === 'step');
    const live = createView();
    for (const event of [...events, reset(step?.eventId ?? 0)]) live.push(event);
    expect(live.current()).toMatchObject({
      runId: 'r2',
      calls: [],
      steps: [],
      requests: [],
      prompt: 'do it',
      status: 'running',
    });
  });

  test('voids the votes on what waits, and the request says so', () => {
    const script = asked();
    const authority = {
      ...{ fileDigest: 'f', ruleDigest: 'r', requesters: [] },
      rule: { name: 'pay', then: 'ask' as const, ...rule({ rosters: [['ann', 'ben']], need: 2 }) },
    };
    const events = script
      .fold()
      .map((event) => (event.type === 'request_opened' ? { ...event, authority } : event));
    const [callId = ''] = events.flatMap((event) => (event.type === 'request_opened' ? [event.callId] : []));
    const vote: TurnEvent = {
      ...{ type: 'decision', eventId: 90, at: '', callId, decision: 'approved', approver: 'ann' },
      ...{ channel: 'cli', door: 'update', identity: '', stillWaits: true, judgement: { accepted: true } },
      now: { phase: 'request', votes: [{ voter: 'ann', decision: 'approved', at: '' }] },
    };
    expect(viewOf([...events, vote]).calls[0]?.votes).toHaveLength(1);
    const [call] = viewOf([...events, vote, reset(95)]).calls;
    expect(call).toMatchObject({
      votes: [],
      request: { note: 'the votes from before the reset do not count' },
    });
  });

  test('opens a turn again that had ended', () => {
    const script = new Script().started().task().think(1, []);
    script.add({ kind: 'completed', result: { status: 'answered', answer: 'hi' } });
    expect(viewOf([...script.fold(), reset(4)])).toMatchObject({ status: 'running', endedAt: null });
  });

  test('leaves earlier runs of the chain alone', () => {
    const script = new Script()
      .started('first')
      .task()
      .think(1, [run('1.1')]);
    script.add({ kind: 'continued_as_new', newRunId: 'r2' });
    const first = script.fold();
    const second: TurnEvent = {
      type: 'turn_started',
      eventId: 1,
      at: '',
      turn: 't',
      runId: 'r2',
      agent: 'a',
      prompt: 'first',
      taskQueue: 'q',
    };
    const doomed: TurnEvent = {
      type: 'step',
      eventId: 9,
      at: '',
      step: 2,
      text: '',
      model: 'm',
      finishReason: 'stop',
      calls: [],
    };
    expect(viewOf([...first, second, doomed, reset(5)]).steps.map((step) => step.step)).toEqual([1]);
  });
});
