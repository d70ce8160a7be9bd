import { decisionNote } from '../../../src/contract/call-texts';
import { HOLDER_GONE } from '../../../src/contract/lost-activity';
import type { DecodedFailure } from '../../../src/history/decode/events';
import { accepted, ask, item, requested, result, Script } from '../script';
import { eventLines } from '../../../src/cli/print/event';
import { proposalLines } from '../../../src/cli/print/request';
import { viewOf } from '../../../src/history/view';
import { planReset } from '../../../src/history/reset';
import { createStyle } from '../../../src/cli/print/screen';
import type { Effect } from '../../../src/contract/tool';

/** A call that a person approved, running. */
function running(settings: object = {}): { script: Script; scheduled: number } {
  const call = ask('1.1', {}, { heartbeatMs: 60_000, ...settings });
  const script = new Script()
    .started()
    .task()
    .think(1, [call])
    .open([item('1.1')]);
  script.update('decide', { callId: '1.1', decision: 'approved' }, accepted('1.1', 'approved'));
  const scheduled = script.call(call, {
    decision: { decisionId: 'd', decision: 'approved', approver: 'ann' },
  });
  return { script: script.open([]), scheduled };
}

/** The same call, lost. */
function lost(): Script {
  const { script, scheduled } = running();
  return script.fails(scheduled, { kind: 'timeout', timeout: 'HEARTBEAT' }).task();
}

const doubted = () =>
  lost().open([item('1.1', { kind: 'in_doubt', deadline: null, summary: '1.1 pay n=1' })]);

test('an unsafe call that ended as a child turn begins is in doubt, as in the workflow', () => {
  const { script, scheduled } = running();
  script.done(scheduled, { child: 'there' }).task();
  script.open([item('1.1', { kind: 'in_doubt', deadline: null, summary: '1.1 pay n=1' })]);
  expect(script.told('call_lost', 'in_doubt', 'call_ended')).toMatchObject([
    { type: 'call_lost' },
    { type: 'in_doubt' },
  ]);
});

test('the roster by which a child turn was let start stands with its result', () => {
  const { script, scheduled } = running({ child: { agent: 'helper', outputBytes: 1000 } });
  const roster = { installation: 'i', fileDigest: 'f', lines: [] };
  script.done(scheduled, { child: 'absent', roster }).task();
  const child = 't.1.1.r1';
  script.add({ kind: 'child_started', child });
  script.add({ kind: 'child_ended', child, end: { kind: 'cancelled' } });
  expect(script.told('call_ended')).toMatchObject([{ result: { error: { code: 'cancelled' } }, roster }]);
});

describe('a call by a grant whose worker died', () => {
  const grant = { id: 'g-1', by: 'ann', until: '2027-01-01T00:00:00.000Z', times: 3 };
  const use = { ...grant, use: 2, assurance: 'claimed' as const };

  test.each<[string, unknown, object]>([
    ['its use, which the heartbeats had', { key: 'k', grant: use }, use],
    ['only the grant, where no heartbeat arrived', undefined, grant],
    ['only the grant, where the heartbeats are of another', { grant: { ...use, id: 'g-2' } }, grant],
  ])('names %s', (_what, beat, expected) => {
    const call = { ...ask('1.1', {}, { heartbeatMs: 60_000 }), grant };
    const script = new Script().started().task().think(1, [call]);
    const scheduled = script.call(call, { grant });
    const failure = {
      kind: 'timeout',
      timeout: 'HEARTBEAT',
      ...(beat === undefined ? {} : { beaten: true, beat }),
    };
    script.fails(scheduled, failure as Partial<DecodedFailure>).task();
    expect(script.told('call_lost')).toMatchObject([{ callId: '1.1', grant: expected }]);
    expect(script.told('call_lost')[0]?.grant).toEqual(expected);
  });
});

const failures: [string, Partial<DecodedFailure>, string, string][] = [
  ['never started', { kind: 'timeout', timeout: 'SCHEDULE_TO_START' }, 'expired', 'expired'],
  ['cancelled before a worker had it', { kind: 'canceled', untaken: true }, 'cancelled', 'cancelled'],
  ['cancelled', { kind: 'canceled' }, 'lost', 'cancelled'],
  ['without a tool', { type: 'NotFoundError' }, 'tool_not_found', 'tool_not_found'],
  ['not heard of', { kind: 'timeout', timeout: 'START_TO_CLOSE' }, 'lost', 'timeout'],
  ['on a dead worker', { kind: 'timeout', timeout: 'HEARTBEAT' }, 'lost', 'transport'],
  ['failed', { type: 'Error', message: 'pipe' }, 'lost', 'unknown'],
  [
    'failed with its last result',
    { type: 'countersign.retry', details: [result('1.1', { content: 'last' })] },
    'lost',
    'result',
  ],
];

test('the note on what a person changed stands beside the result', () => {
  const script = requested({ arguments: { n: 7 } });
  const decision = { decisionId: 'd', decision: 'modified', approver: 'ann', edit: { approver: 'ann' } };
  const scheduled = script.call(ask('1.1'), { decision, proposed: { n: 7 } });
  const note = decisionNote({
    ...{ arguments: { n: 1 }, proposed: { n: 7 } },
    decision,
  });
  const outcome = result('1.1', { content: `${note ?? ''}\n\npaid` });
  const [call] = viewOf(script.done(scheduled, { result: outcome, contentDigest: 'x' }).fold()).calls;
  expect(note).toContain('n: 7 → 1');
  expect(call?.note).toBe(note);
});

describe('the note on what a person changed or said, before a result that no handler made', () => {
  const edit = { approver: 'ann' };
  const EDITED = {
    decision: { decisionId: 'd', decision: 'modified', approver: 'ann', edit },
    proposed: { n: 7 },
  };
  const ADVISED = { decision: { decisionId: 'd', decision: 'approved', approver: 'ann', reason: 'ok' } };
  const NOTE = /^\[ann changed the arguments[^]+n: 7 → 1[^]+\]\n\n/;

  const started = (settings: object, input: object): { script: Script; scheduled: number } => {
    const script = requested({ arguments: { n: 7 } }, { heartbeatMs: 60_000, ...settings });
    return { script, scheduled: script.call(ask('1.1', {}, settings), input) };
  };
  const ended = (script: Script) => script.told('call_ended')[0];

  test.each([
    ['changed', EDITED, NOTE],
    ['approved with a remark', ADVISED, /^\[ann approved this call\. Reason: ok\]\n\n/],
  ])('a call that was %s and whose workers were all lost', (_, input, note) => {
    const { script, scheduled } = started({ effect: 'idempotent' }, input);
    script.fails(scheduled, { kind: 'timeout', timeout: 'HEARTBEAT' }).task();
    const end = ended(script);
    expect(end?.result.content).toMatch(note);
    expect(end?.note).toMatch(/^\[ann/);
    expect(end?.result.error?.message).not.toContain('ann');
  });

  test.each([
    ['happened', { outcome: 'happened', result: result('1.1', { content: 'paid' }) }, /\n\npaid$/],
    ['did not happen', { outcome: 'did_not', message: 'not paid' }, /\n\n[^]*not paid$/],
  ])('the tool proves that it %s', (_, answer, content) => {
    const { script, scheduled } = started({}, EDITED);
    script.fails(scheduled, { kind: 'timeout', timeout: 'HEARTBEAT' }).task();
    script.open([item('1.1', { kind: 'in_doubt', deadline: null })]);
    script.done(script.scheduled('verify-1.1-0', 'countersign.verify'), answer).task();
    script.close({ proven: ['1.1'] });
    expect(ended(script)?.result.content).toMatch(NOTE);
    expect(ended(script)?.result.content).toMatch(content);
  });

  test('a person resolves it, and the turn ends before the next step', () => {
    const { script, scheduled } = started({}, EDITED);
    script.fails(scheduled, { kind: 'timeout', timeout: 'HEARTBEAT' }).task();
    script.open([item('1.1', { kind: 'in_doubt', deadline: null })]);
    script.update('resolve', { callId: '1.1', resolution: 'happened' }, accepted('1.1', 'happened'));
    script.open([]).add({ kind: 'canceled' });
    expect(ended(script)?.result.content).toMatch(NOTE);
  });

  test('the decision was void, and the call never started by another one', () => {
    const { script, scheduled } = started({ effect: 'idempotent' }, EDITED);
    script
      .done(scheduled, { askAgain: 'decided before' })
      .task()
      .open([item('1.1')]);
    script.close({ expired: ['1.1'] }).add({ kind: 'canceled' });
    expect(ended(script)?.result.content).toMatch(/^Error \[expired\]/);
  });

  test('a call was to run again, and its turn was cancelled first', () => {
    const { script, scheduled } = started({}, EDITED);
    script.fails(scheduled, { kind: 'timeout', timeout: 'HEARTBEAT' }).task();
    script.open([item('1.1', { kind: 'in_doubt', deadline: null })]);
    script.update('resolve', { callId: '1.1', resolution: 'run-again' }, accepted('1.1', 'run-again'));
    script.close({ neverStarted: ['1.1'] }).add({ kind: 'canceled' });
    expect(ended(script)?.result.content).toMatch(/^Error \[cancelled\]/);
  });
});

test.each(failures)('an unsafe call %s', (_, failure, expected) => {
  const { script, scheduled } = running();
  script.fails(scheduled, failure).task();
  const [told] = script.told('call_lost', 'call_ended');
  expect(told?.type === 'call_ended' ? told.result.error?.code : 'lost').toBe(expected);
});

test.each(failures.filter(([, , expected]) => expected !== 'lost'))(
  'an unsafe call %s, but so late that an earlier attempt could have been lost',
  (_, failure) => {
    const { script, scheduled } = running();
    script.fails(scheduled, failure);
    expect(script.told('call_lost', 'call_ended')).toEqual([]);
    script.wait(61_000).task();
    expect(script.told('call_lost', 'call_ended')).toMatchObject([
      {
        type: 'call_lost',
        message: expect.stringContaining('an earlier attempt of it may have been started'),
      },
    ]);
  },
);

test.each(failures)('an idempotent call %s is never in doubt', (_, failure, __, expected) => {
  const retry = { maximumAttempts: 3, initialIntervalMs: 1000, backoffCoefficient: 2 };
  const { script, scheduled } = running({ effect: 'idempotent', retry });
  script.fails(scheduled, failure).task();
  const [ended] = script.told('call_ended');
  expect(ended?.result.error?.code ?? 'result').toBe(expected);
  expect(ended?.origin).toBe(expected === 'result' ? 'handler' : 'failure');
  expect(ended?.result.error?.message ?? '').not.toContain('Nothing ran');
});

test('a call that a pause held starts once in the record', () => {
  const { script, scheduled } = running();
  script.done(scheduled, { paused: 'ann paused calls of pay: an incident', secret: 's' }).task();
  const again = script.call(ask('1.1'));
  script.done(again, { result: result('1.1'), contentDigest: 'x' }).task();
  expect(script.told('call_started', 'call_held', 'call_ended')).toMatchObject([
    { type: 'call_started' },
    { type: 'call_held', callId: '1.1', message: 'ann paused calls of pay: an incident' },
    { type: 'call_ended' },
  ]);
});

describe('a call on the queue of the worker that held its state', () => {
  const HELD = 'countersign-worker:7@h:x';
  const late = { kind: 'timeout', timeout: 'SCHEDULE_TO_START' } as const;
  const state = { scope: 'turn', group: 'memory' } as const;

  /** It was not taken there, and then runs where its tool is. */
  const elsewhere = (settings: object) => {
    const { script } = running({ state, heartbeatMs: 10_000, startWithinMs: 60_000, ...settings });
    const call = ask('1.1', {}, { state, ...settings });
    const scheduled = script.task().call(call, {}, 1, HELD);
    return { script: script.fails(scheduled, late), call };
  };

  test.each<[string, object]>([
    ['unsafe', {}],
    ['idempotent', { effect: 'idempotent' }],
  ])('that is %s waits, starts once in the record, and ends with its result', (_, settings) => {
    const { script, call } = elsewhere(settings);
    script.wait(10_000).task();
    const again = script.call(call, {}, 1);
    script.done(again, { result: result('1.1'), contentDigest: 'x' }).task();
    const types = script
      .told('call_started', 'call_waits', 'call_lost', 'call_ended')
      .map(({ type }) => type);
    expect(types).toEqual(['call_started', 'call_started', 'call_waits', 'call_ended']);
    expect(script.told('call_waits')).toMatchObject([{ message: HOLDER_GONE }]);
  });

  test('is in doubt where an attempt of it may have been lost, if it is unsafe', () => {
    const { script } = elsewhere({});
    expect(script.wait(25_000).task().told('call_lost')).toHaveLength(1);
  });

  test('is not said to have run nothing where it may run again', () => {
    const { script } = elsewhere({ effect: 'idempotent' });
    script
      .wait(15_000)
      .task()
      .close({ absent: ['1.1'] });
    script.thinkScheduled(2, { results: [{ callId: '1.1', digest: 'd', success: false }] });
    const [ended] = script.told('call_ended');
    expect(ended?.result.error?.message).toMatch(/An earlier attempt of it may have run\.$/);
  });
});

test('a call that says itself that it is in doubt is lost, with what is known', () => {
  const { script, scheduled } = running();
  script.done(scheduled, { inDoubt: { message: 'gone', partial: 'half' } });
  expect(script.told('call_lost')).toMatchObject([{ callId: '1.1', message: 'gone', partial: 'half' }]);
});

test('a lost call is a question only once the memo asks it, and only once', () => {
  expect(lost().told('in_doubt')).toEqual([]);
  const asked = doubted().open([item('1.1', { kind: 'in_doubt', deadline: null }), item('1.2')]);
  expect(asked.told('in_doubt')).toMatchObject([
    {
      callId: '1.1',
      callKey: 'key:1.1',
      tool: 'pay',
      summary: '1.1 pay n=1',
      message: 'the worker stopped answering while the call ran',
    },
  ]);
});

test('a cut memo asks for the ones it has no room for', () => {
  expect(lost().open([], 25).told('in_doubt')).toHaveLength(1);
});

test.each([
  [
    'happened',
    { content: 'receipt 7' },
    {
      success: true,
      content: 'The call was interrupted. ann found that it did take effect. Reason: saw it\n\nreceipt 7',
    },
  ],
  [
    'did-not',
    {},
    {
      success: false,
      content:
        'Error [transport]: The call was interrupted. ann found that it did not take effect. Reason: saw it',
    },
  ],
])('a person resolves: %s', (resolution, more, expected) => {
  const said = { callId: '1.1', resolution, reason: 'saw it', ...more };
  const script = doubted().update('resolve', said, accepted('1.1', resolution)).open([]);
  expect(script.told('resolved')).toMatchObject([
    { resolution, approver: 'ann', judgement: { accepted: true } },
  ]);
  script.add({ kind: 'completed', result: undefined });
  expect(script.told('call_ended')).toMatchObject([{ origin: 'turn', attempts: 1, result: expected }]);
});

test('run again starts the next generation, which can be lost again', () => {
  const script = doubted().update(
    'resolve',
    { callId: '1.1', resolution: 'run-again' },
    accepted('1.1', 'run-again'),
  );
  const again = script.call(
    ask('1.1'),
    { decision: { decisionId: 'd2', decision: 'approved', approver: 'ann' } },
    1,
  );
  expect(script.told('call_started').at(-1)).toMatchObject({
    generation: 1,
    decision: { decision: 'run-again' },
  });
  script
    .fails(again, { message: 'pipe' })
    .task()
    .open([item('1.1', { kind: 'in_doubt' })]);
  expect(script.told('in_doubt')).toHaveLength(2);
});

test('run again that never starts, because the turn was cancelled, does not say that nothing ran', () => {
  const said = { callId: '1.1', resolution: 'run-again' };
  const script = doubted().update('resolve', said, accepted('1.1', 'run-again'));
  script.task().close({ neverStarted: ['1.1'] });
  script.add({ kind: 'canceled' });
  const content = expect.stringMatching(/before this call started. An earlier attempt of it may have run.$/);
  expect(script.told('call_ended')).toMatchObject([{ result: { success: false, content } }]);
});

test('a resolution by signal is judged with the memo', () => {
  const script = doubted()
    .signal('resolution', { callId: '1.1', resolution: 'did-not', approver: 'bob' })
    .task();
  script.open([]).verdicts([{ callId: '1.1', verdict: 'accepted', decisionId: 'x', at: '' }]);
  expect(script.told('resolved')).toMatchObject([{ resolution: 'did-not', approver: 'bob', door: 'signal' }]);
});

describe('proof', () => {
  const verify = (script: Script, answer: unknown) => {
    const activityType = 'countersign.verify';
    const scheduled = script.scheduled('verify-1.1-0', activityType, {});
    return script.done(scheduled, answer).task();
  };

  test.each([
    ['proves nothing while its handler may still run', { running: true }, 'it may still be running', []],
    ['settles the doubt where it had ended', {}, 'it did not', [{ callId: '1.1', origin: 'turn' }]],
  ])('a check that says that it did not happen %s', (_, how, message, ended) => {
    const { script, scheduled } = running();
    script.done(scheduled, { inDoubt: { message: 'gone', ...how } });
    script.open([item('1.1', { kind: 'in_doubt', deadline: null })]);
    verify(script, { outcome: 'did_not', message: 'it did not' });
    if (ended.length > 0) script.close({ proven: ['1.1'] });
    expect(script.told('verified')).toMatchObject([
      { outcome: 'did_not', message: expect.stringContaining(message) },
    ]);
    expect(script.told('call_ended')).toMatchObject(ended);
  });

  test.each([
    ['happened', { outcome: 'happened', result: result('1.1', { content: 'it did' }) }, 'it did', 'handler'],
    ['did_not', { outcome: 'did_not', message: 'no trace' }, 'Error [transport]: no trace', 'turn'],
  ])('by verify: %s ends the call once the workflow says so', (outcome, answer, content, origin) => {
    const script = verify(doubted(), answer);
    expect(script.told('verifying', 'verified').map((event) => event.type)).toEqual([
      'verifying',
      'verified',
    ]);
    expect(script.told('verified')).toMatchObject([{ outcome }]);
    expect(script.told('call_ended')).toEqual([]);
    expect(script.close({ proven: ['1.1'] }).told('call_ended')).toMatchObject([
      { origin, result: { content } },
    ]);
  });

  test.each([[{ outcome: 'cannot_tell', message: 'no verify' }], [undefined], ['nonsense']])(
    '%j proves nothing',
    (answer) => {
      const script = verify(doubted(), answer);
      expect(script.told('verified')).toMatchObject([{ outcome: 'cannot_tell' }]);
      expect(script.open([item('1.1', { kind: 'in_doubt' })]).told('call_ended')).toEqual([]);
    },
  );

  test('a failed check proves nothing either', () => {
    const script = doubted();
    const activityType = 'countersign.verify';
    const scheduled = script.scheduled('verify-1.1-0', activityType, {});
    script.fails(scheduled, { message: 'check broke' });
    expect(script.told('verified')).toMatchObject([{ outcome: 'cannot_tell', message: 'check broke' }]);
  });

  test('a person whose signal is judged in the same task is first', () => {
    const script = verify(doubted().signal('resolution', { callId: '1.1', resolution: 'did-not' }), {
      outcome: 'happened',
      result: result('1.1'),
    });
    script.open([]).verdicts([{ callId: '1.1', verdict: 'accepted', decisionId: 'x', at: '' }]);
    expect(script.told('call_ended')).toEqual([]);
    expect(script.told('resolved')).toHaveLength(1);
  });

  test('by a late outcome', () => {
    const late = {
      callKey: 'key:1.1',
      generation: 0,
      secret: 's',
      result: result('1.1', { content: 'late' }),
    };
    const script = doubted()
      .signal('outcome', late)
      .task()
      .close({ proven: ['1.1'] });
    expect(script.told('outcome_reported')).toMatchObject([{ callId: '1.1', settles: true }]);
    expect(script.told('call_ended')).toMatchObject([{ result: { content: 'late' } }]);
  });

  test('by an outcome that came before the loss of its call was known', () => {
    const { script, scheduled } = running();
    const late = {
      callKey: 'key:1.1',
      generation: 0,
      secret: 's',
      result: result('1.1', { content: 'late' }),
    };
    script
      .signal('outcome', late)
      .done(scheduled, { inDoubt: { message: 'gone' } })
      .task();
    expect(script.close({ proven: ['1.1'] }).told('call_ended')).toMatchObject([
      { result: { content: 'late' } },
    ]);
  });

  test.each([
    ['of another key', { callKey: 'other:1.1', generation: 0, secret: 's' }],
    ['of another generation', { callKey: 'key:1.1', generation: 1, secret: 's' }],
    ['with another secret', { callKey: 'key:1.1', generation: 0, secret: 't' }],
  ])('a late outcome %s settles nothing', (_, of) => {
    const script = doubted().signal('outcome', { ...of, result: result('1.1') });
    expect(script.told('outcome_reported')).toMatchObject([{ settles: false }]);
  });

  test.each([null, 4, { callKey: 'key:1.1' }])('a late outcome that is %j is passed over', (input) => {
    expect(doubted().signal('outcome', input).told('outcome_reported')).toEqual([]);
  });
});

test('an abandoned turn ends with its calls in doubt unresolved', () => {
  const script = doubted().signal('abandon', { approver: 'bob', reason: 'Give up.' }).task();
  script.close({ abandoned: ['1.1'] });
  script.add({ kind: 'canceled' });
  expect(script.told('abandoned')).toMatchObject([
    { approver: 'bob', reason: 'Give up.', identity: 'cli@host' },
  ]);
  expect(script.told('call_ended')[0]?.result.error).toEqual({
    code: 'in_doubt',
    message: 'Unresolved: bob ended the turn with this call in doubt. Give up.',
  });
});

describe('a decision that does not hold', () => {
  const WHY = 'decided before the turn was reset';

  /** A call that was approved with a decision that its worker did not find to hold. */
  function voided(effect: Effect): Script {
    const { script, say } = approved(effect);
    say();
    return script.task().open([item('1.1')]);
  }

  /** The same before its worker says so. */
  function approved(effect: Effect): { script: Script; say(): Script } {
    const call = ask('1.1', {}, { effect });
    const script = new Script()
      .started()
      .task()
      .think(1, [call])
      .open([item('1.1')]);
    script.update('decide', { callId: '1.1', decision: 'approved' }, accepted('1.1', 'approved'));
    const decision = { decisionId: 'd', decision: 'approved', approver: 'ann' } as const;
    const scheduled = script.call(call, { decision });
    script.open([]);
    return { script, say: () => script.done(scheduled, { askAgain: WHY }) };
  }

  test('a decision that does not hold is shown, and the call is a request again that says why', () => {
    const script = voided('idempotent');
    expect(
      script.told('decision', 'call_started', 'decision_void', 'request_opened', 'call_lost'),
    ).toMatchObject([
      { type: 'request_opened' },
      { type: 'decision' },
      { type: 'call_started' },
      { type: 'decision_void', callId: '1.1', message: WHY },
      { type: 'request_opened', note: WHY },
    ]);
    const view = viewOf(script.fold());
    expect(view.requests).toMatchObject([{ callId: '1.1', note: WHY }]);
    expect(view.calls[0]).toMatchObject({ phase: 'request' });
    expect(view.calls[0]?.approved).toBeUndefined();
  });

  test.each([
    ['before that', true],
    ['in the same workflow task', false],
  ])('asks nobody again in a turn that was cancelled %s', (_, isBefore) => {
    const { script, say } = approved('idempotent');
    const cancel = () => script.add({ kind: 'cancel_requested', identity: 'cli@host' });
    if (isBefore) cancel();
    say();
    if (!isBefore) cancel();
    script
      .task()
      .close({ neverStarted: ['1.1'] })
      .add({ kind: 'canceled' });
    expect(script.told('decision_void', 'call_lost', 'request_opened', 'call_ended')).toMatchObject([
      { type: 'request_opened' },
      { type: 'call_ended', result: { error: { code: 'cancelled' } } },
    ]);
    expect(viewOf(script.fold()).calls[0]).toMatchObject({ phase: 'done', approved: expect.anything() });
  });

  test('of an unsafe call nobody but a forger says so: it is lost', () => {
    expect(voided('unsafe').told('decision_void', 'call_lost')).toMatchObject([
      { type: 'call_lost', message: WHY },
    ]);
  });

  test('the terminal says it in the timeline and with the request', () => {
    const script = voided('idempotent');
    const screen = { width: 100, style: createStyle(false) };
    const [told] = script.told('decision_void');
    const request = script.told('request_opened').at(-1);
    if (told === undefined || request === undefined) throw new Error('not told');
    expect(eventLines(told, screen).join('\n')).toContain(`1.1      does not run: ${WHY}`);
    expect(proposalLines(request, { turn: 't', screen, now: 0 }).join('\n')).toContain(WHY);
  });

  test('it never ran, so there is nothing to reset', () => {
    expect(() => planReset([voided('idempotent').events], '1.1')).toThrow('waits for a decision as it is');
  });
});

describe('a call that a gate runs by an activity of the user', () => {
  /** Approved and running, `settings` apart from those of an unsafe call. */
  const gated = (settings: object = {}): { script: Script; scheduled: number } => {
    const call = ask('1.1', {}, { heartbeatMs: 60_000, gate: { activity: 'refund' }, ...settings });
    const script = new Script();
    script.add({
      ...{ kind: 'started', turn: 'refund-17', runId: 'r', taskQueue: 'q' },
      ...{ workflowType: 'refundOrder', input: '17' },
    });
    script.task().add({ kind: 'memo', fields: { 'gated.1.1': call } });
    script.open([item('1.1')]);
    script.update('decide', { callId: '1.1', decision: 'approved' }, accepted('1.1', 'approved'));
    const scheduled = script.open([]).scheduled('call-1.1-0', 'refund', { n: 1 });
    script.add({ kind: 'activity_started', scheduledEventId: scheduled, attempt: 1 });
    return { script, scheduled };
  };
  const fails = (
    { script, scheduled }: ReturnType<typeof gated>,
    failure: Partial<DecodedFailure>,
  ): Script => {
    const whole: DecodedFailure = { message: 'no', kind: 'application', details: [], ...failure };
    script.add({ kind: 'activity_failed', scheduledEventId: scheduled, failure: whole });
    return script.task();
  };

  it.each<[string, unknown, object]>([
    ['a text', 'paid', { content: 'paid', contentType: 'text' }],
    ['a value', { paid: 1 }, { content: '{"paid":1}', contentType: 'json' }],
    ['what looks like our output', { notHere: 'x' }, { content: '{"notHere":"x"}', contentType: 'json' }],
    ['nothing', undefined, { content: '' }],
  ])('starts, and is done with %s', (_, value, content) => {
    const { script, scheduled } = gated();
    expect(script.told('request_opened')).toMatchObject([{ byGate: true, timeoutMs: 1000 }]);
    expect(script.told('call_started')).toMatchObject([
      { callId: '1.1', tool: 'pay', arguments: { n: 1 }, effect: 'unsafe' },
    ]);
    script.done(scheduled, value);
    expect(script.told('call_ended')).toMatchObject([
      {
        callId: '1.1',
        origin: 'handler',
        result: { success: true, ...content, metadata: { approved: true } },
      },
    ]);
  });

  it.each<[string, Partial<DecodedFailure>, string, string]>([
    ['threw', { type: 'Error' }, 'tool', 'tool'],
    ['was never started', { kind: 'timeout', timeout: 'SCHEDULE_TO_START' }, 'expired', 'expired'],
    ['never came back', { kind: 'timeout', timeout: 'START_TO_CLOSE' }, 'lost', 'timeout'],
    ['lost its connection', { type: 'Error', message: 'read ECONNRESET' }, 'lost', 'unknown'],
    [
      'lost a connection further down',
      { type: 'Error', cause: { message: 'EPIPE', kind: 'application', details: [] } },
      'lost',
      'unknown',
    ],
  ])('that %s', (_, failure, unsafe, idempotent) => {
    const ending = (settings: object): string | undefined => {
      const script = fails(gated(settings), failure);
      return script.told('call_lost').length > 0 ? 'lost' : script.told('call_ended')[0]?.result.error?.code;
    };
    expect(ending({})).toBe(unsafe);
    expect(ending({ effect: 'idempotent' })).toBe(idempotent);
  });

  it('is in doubt, and ends as soon as a person has resolved it', () => {
    const doubtful = fails(gated(), { kind: 'timeout', timeout: 'START_TO_CLOSE' });
    doubtful.open([item('1.1', { kind: 'in_doubt', deadline: null })]);
    expect(viewOf(doubtful.fold())).toMatchObject({ status: 'in_doubt', calls: [{ phase: 'in_doubt' }] });
    const said = { callId: '1.1', resolution: 'happened', content: 'paid' };
    doubtful.update('resolve', said, accepted('1.1', 'happened')).open([]);
    expect(viewOf(doubtful.fold())).toMatchObject({
      status: 'running',
      calls: [{ phase: 'done', result: { success: true, content: expect.stringContaining('paid') } }],
    });
  });

  it('runs again where a person says so', () => {
    const { script, scheduled } = gated();
    fails({ script, scheduled }, { kind: 'timeout', timeout: 'START_TO_CLOSE' });
    script.open([item('1.1', { kind: 'in_doubt', deadline: null })]);
    script
      .update('resolve', { callId: '1.1', resolution: 'run-again' }, accepted('1.1', 'run-again'))
      .open([]);
    script.done(script.scheduled('call-1.1-1', 'refund', { n: 1 }), 'paid');
    expect(script.told('call_started')).toMatchObject([{ generation: 0 }, { generation: 1 }]);
    expect(script.told('call_ended')).toMatchObject([{ result: { content: 'paid' } }]);
  });
});
