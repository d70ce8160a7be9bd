import { viewOf } from '../../../src/history/view';
import type { ClosingCause } from '../../../src/contract/call-texts';
import { digestJson, previewDigests, seenDigestOf } from '../../../src/contract/digest';
import { accepted, ask, authority, foldAll, item, result, run, Script, thinkOutput, waits } from '../script';

const DAY = 24 * 60 * 60_000;

const asked = (calls = [ask('1.1')]) => new Script().started().task().think(1, calls);

test('a request is shown only once the memo of its task is there, with all that an approver needs', () => {
  const call = ask('1.1', {
    preview: { text: '+x' },
    proposed: { n: 0 },
    policyReason: 'big sum',
    notes: ['n'],
  });
  const before = asked([call]);
  expect(before.told('request_opened')).toEqual([]);
  const [request] = before.open([item('1.1')]).told('request_opened');
  expect(request).toMatchObject({
    callId: '1.1',
    callKey: 'key:1.1',
    tool: 'pay',
    safety: 'dangerous',
    effect: 'unsafe',
    arguments: { n: 1 },
    seenDigest: seenDigestOf({ argsDigest: digestJson({ n: 1 }), ...previewDigests({ text: '+x' }) }),
    proposed: { n: 0 },
    preview: { text: '+x' },
    policyReason: 'big sum',
    notes: ['n'],
    deadline: '2026-01-01T00:01:00.000Z',
    summary: '1.1 pay',
  });
});

test('a request tells the timeout of its call, and the schema of its tool where the record has it', () => {
  const requestOf = (schemas: unknown, settings = {}) => {
    const script = new Script().started().task();
    const scheduledEventId = script.thinkScheduled(1);
    const output = { ...thinkOutput([ask('1.1', {}, settings), ask('1.2', { toolDigest: 't2' })]), schemas };
    script.add({ kind: 'activity_completed', scheduledEventId, result: output });
    return script
      .task()
      .open([item('1.1'), item('1.2')])
      .told('request_opened');
  };
  const schema = { type: 'object', required: ['n'] };
  const [first, second] = requestOf({ t1: schema });
  expect(first).toMatchObject({ schema, timeoutMs: 1000 });
  expect(second).not.toHaveProperty('schema', expect.anything());
  for (const older of requestOf(undefined, { timeoutMs: undefined }).slice(0, 1)) {
    expect(older).not.toHaveProperty('schema', expect.anything());
    expect(older).not.toHaveProperty('timeoutMs', expect.anything());
  }
});

test('a request tells that its tool wants each of them decided on its own', () => {
  const calls = [ask('1.1', {}, { noBatch: true }), ask('1.2')];
  const requests = asked(calls)
    .open([item('1.1'), item('1.2')])
    .told('request_opened');
  expect(requests.map(({ noBatch }) => noBatch)).toEqual([true, undefined]);
});

test('a request names the MCP server that has its tool', () => {
  const requests = asked([ask('1.1', {}, { server: 'files' }), ask('1.2')])
    .open([item('1.1'), item('1.2')])
    .told('request_opened');
  expect(requests.map(({ server }) => server)).toEqual(['files', undefined]);
});

test('what a workflow with a gate is about stands in place of a prompt', () => {
  const script = new Script().started('');
  script.add({ kind: 'memo', fields: { prompt: 'refund of A-77' } });
  expect(viewOf(foldAll(script.events)).prompt).toBe('refund of A-77');
});

test('calls that need nobody are no requests', () => {
  expect(
    asked([run('1.1')])
      .open([])
      .told('request_opened'),
  ).toEqual([]);
});

test('a memo that names only some opens all, with deadlines counted from the task', () => {
  const calls = [ask('1.1'), ask('1.2'), ask('1.3', {}, { requestExpiresMs: null })];
  const requests = asked(calls)
    .open([item('1.1')], 3)
    .told('request_opened');
  expect(requests.map(({ callId, deadline }) => [callId, deadline])).toEqual([
    ['1.1', '2026-01-01T00:01:00.000Z'],
    ['1.2', '2026-01-01T00:01:07.000Z'],
    ['1.3', null],
  ]);
  expect(requests[1]?.summary).toBe('1.2 pay n=1');
});

test.each([
  ['a minute', 60_000, 7 * DAY, '2026-01-01T00:01:07.000Z'],
  ['a minute, where the tool names no time', 60_000, null, '2026-01-01T00:01:07.000Z'],
  ['a week, where the tool names a shorter time', 7 * DAY, 60_000, '2026-01-01T00:01:07.000Z'],
])(
  'a request that the memo does not name has the time of its rule: %s',
  (_, expiresMs, requestExpiresMs, deadline) => {
    const call = ask('1.2', { authority: authority(1, { expiresMs }) }, { requestExpiresMs });
    const requests = asked([ask('1.1'), call])
      .open([item('1.1')], 2)
      .told('request_opened');
    expect(requests[1]).toMatchObject({ callId: '1.2', deadline });
  },
);

test('a call in doubt that the memo does not name has the line of its preview', () => {
  const call = ask('1.1', { preview: { text: 'pay ben 5' } });
  const script = asked([call]).open([item('1.1')]);
  script.update('decide', { callId: '1.1', decision: 'approved' }, accepted('1.1', 'approved'));
  script.fails(script.call(call), { message: 'pipe' }).open([], 1);
  expect(script.told('in_doubt')).toMatchObject([{ summary: '1.1 pay pay ben 5' }]);
});

test('the same memo again opens nothing twice', () => {
  expect(
    asked()
      .open([item('1.1')])
      .open([item('1.1')])
      .told('request_opened'),
  ).toHaveLength(1);
});

test('a request expires when the workflow says so, and ends when the model hears of it', () => {
  const script = asked()
    .open([item('1.1')])
    .wait(60_000)
    .task()
    .close({ expired: ['1.1'] });
  expect(script.told('request_expired')).toMatchObject([{ callId: '1.1' }]);
  script.think(2, [], {
    results: [{ callId: '1.1', digest: 'x', success: false, text: 'Error [expired]: too late' }],
  });
  const [ended] = script.told('call_ended');
  expect(ended).toMatchObject({ callId: '1.1', origin: 'turn', attempts: 0, durationMs: null });
  expect(ended?.result).toMatchObject({
    success: false,
    content: 'Error [expired]: too late',
    error: { code: 'expired' },
  });
});

test('a request that expires while more are open than the memo names is shown too', () => {
  const calls = [ask('1.1'), ask('1.2'), ask('1.3')];
  const script = asked(calls)
    .open([item('1.1')], 3)
    .wait(120_000)
    .task()
    .close({ expired: ['1.2', '1.3'] }, [item('1.1')], 1);
  expect(script.told('request_expired').map((event) => event.callId)).toEqual(['1.2', '1.3']);
});

test('cancelling closes requests; they end as cancelled with the turn', () => {
  const script = asked([ask('1.1'), ask('1.2')]).open([item('1.1'), item('1.2')]);
  script.add({ kind: 'cancel_requested', identity: 'cli@host', reason: 'enough' });
  script.task().close({ neverStarted: ['1.1', '1.2'] });
  script.add({ kind: 'canceled' });
  expect(script.told('cancel_requested')).toMatchObject([{ identity: 'cli@host', reason: 'enough' }]);
  expect(script.told('call_ended').map((event) => event.result.error?.code)).toEqual([
    'cancelled',
    'cancelled',
  ]);
  expect(script.fold().at(-1)).toMatchObject({ type: 'turn_ended', status: 'cancelled' });
});

test('a request that leaves the memo without a cause has not ended', () => {
  const script = asked()
    .open([item('1.1')])
    .wait(60_000)
    .task()
    .open([]);
  script.add({ kind: 'canceled' });
  expect([...script.told('request_expired'), ...script.told('call_ended')]).toEqual([]);
});

test.each<[ClosingCause, string, RegExp]>([
  ['expired', 'expired', /^Nobody decided/],
  ['withdrawn', 'cancelled', /withdrawn/],
  ['askerEnded', 'cancelled', /^The call that asked this has ended/],
  ['askerWithdrew', 'cancelled', /^The server that asked this has withdrawn it/],
  ['neverStarted', 'cancelled', /before this call started/],
  ['cancelled', 'cancelled', /did not finish/],
  ['abandoned', 'in_doubt', /^Unresolved: somebody ended/],
])('a call that the workflow closed as %s ends as that', (cause, code, message) => {
  const script = asked()
    .open([item('1.1')])
    .task()
    .close({ [cause]: ['1.1', '9.9'] });
  script.add({ kind: 'canceled' });
  expect(script.told('call_ended')).toMatchObject([
    { callId: '1.1', result: { error: { code, message: expect.stringMatching(message) } } },
  ]);
});

test('a call that no worker had ends with what they lacked', () => {
  const script = asked([run('1.1')]).open([]);
  const scheduled = script.call(run('1.1'));
  script
    .done(scheduled, { notHere: 'no agent clerk', secret: 's' })
    .task()
    .close({ absent: ['1.1'] });
  script.thinkScheduled(2, { results: [{ callId: '1.1', digest: 'x', success: false }] });
  expect(script.told('call_ended')).toMatchObject([
    { result: { error: { code: 'expired', message: expect.stringContaining('no agent clerk') } } },
  ]);
});

test.each([null, 'expired', { expired: '1.1' }, { lost: ['1.1'] }])(
  'closings that are %j close nothing',
  (closed) => {
    const script = asked().open([item('1.1')]);
    script.add({ kind: 'memo', fields: { closed } });
    script.add({ kind: 'canceled' });
    expect(script.told('call_ended')).toEqual([]);
  },
);

test('a call that has ended is not closed once more', () => {
  const script = asked([run('1.1')]).open([]);
  script.done(script.call(run('1.1')), { result: result('1.1'), contentDigest: 'd' }).task();
  script.close({ cancelled: ['1.1'] }).add({ kind: 'canceled' });
  expect(script.told('call_ended')).toMatchObject([{ result: { content: 'done' } }]);
});

const plan = { path: 'a', baseHash: null, targetHash: 'h', encoding: 'utf8' as const, hunks: [] };

const seen = (args: { n: number }, text: string): string =>
  seenDigestOf({ argsDigest: digestJson(args), ...previewDigests({ text, plan }) });

describe('an edit that needs a new preview', () => {
  const edited = () =>
    asked([ask('1.1', { preview: { text: 'old', plan } })])
      .open([item('1.1')])
      .update(
        'decide',
        { callId: '1.1', decision: 'modified', arguments: { n: 5 } },
        accepted('1.1', 'modified', { asksAgain: true }),
      )
      .open([]);
  const prepare = (script: Script, call: object) => {
    const input = { callId: '1.1' };
    const activityType = 'countersign.prepare';
    const scheduled = script.scheduled('prepare-1.1', activityType, input);
    return script.done(scheduled, { call }).task();
  };

  test('is a request again with the new plan, and shows what the model asked for', () => {
    const again = ask('1.1', { arguments: { n: 5 }, argsDigest: 'd5', preview: { text: 'new', plan } });
    const script = prepare(edited(), again).open([item('1.1', { since: '2026-01-01T00:00:20.000Z' })]);
    expect(script.told('decision')).toMatchObject([{ decision: 'modified', asksAgain: true }]);
    expect(script.told('request_opened')).toMatchObject([
      { seenDigest: seen({ n: 1 }, 'old'), arguments: { n: 1 } },
      {
        seenDigest: seen({ n: 5 }, 'new'),
        arguments: { n: 5 },
        proposed: { n: 1 },
        edit: { approver: 'ann' },
        preview: { text: 'new' },
      },
    ]);
    expect(script.told('request_opened')[0]).not.toHaveProperty('edit', expect.anything());
  });

  const invalid = {
    ...{ kind: 'invalid', callId: '1.1', id: 'i', tool: 'pay' },
    ...{ proposed: {}, result: result('1.1') },
  };

  test('is a request again with what it had where no plan could be made', () => {
    const script = prepare(edited(), invalid).open([
      item('1.1', { summary: '1.1 pay (could not be planned)' }),
    ]);
    expect(script.told('request_opened').at(-1)).toMatchObject({
      seenDigest: seen({ n: 1 }, 'old'),
      arguments: { n: 1 },
      note: 'the edit could not be previewed: done',
      summary: '1.1 pay (could not be planned)',
    });
    expect(script.told('request_opened').at(-1)).not.toHaveProperty('edit', expect.anything());
    expect(script.told('call_ended')).toEqual([]);
  });

  test('says why it waits again, also if the memo does not name it', () => {
    const script = prepare(edited(), invalid).open([], 1);
    expect(script.told('request_opened').at(-1)?.summary).toBe(
      '1.1 pay (the edit could not be previewed: done) n=1',
    );
  });

  test.each([
    [
      'keeps its votes if the edit could not be previewed',
      { kind: 'invalid', proposed: {}, result: result('1.1') },
      ['ann'],
    ],
    [
      'loses its votes if the edit is shown',
      ask('1.1', { arguments: { n: 5 }, authority: authority(2) }),
      [],
    ],
  ])('%s', (_, prepared, voters) => {
    const script = asked([
      ask('1.1', { authority: authority(2, { escalate: { afterMs: 1, to: ['eve'] } }) }),
    ]);
    script.open([item('1.1')]);
    const vote = { callId: '1.1', decision: 'approved', approver: 'ann' };
    script.update('decide', vote, accepted('1.1', 'approved', waits));
    script.open([item('1.1', { voting: { votes: [], ...waits, escalated: true } })]);
    const edit = { callId: '1.1', decision: 'modified', arguments: { n: 5 }, approver: 'ben' };
    script.update('decide', edit, accepted('1.1', 'modified', { asksAgain: true })).open([]);
    prepare(script, { callId: '1.1', id: 'i', tool: 'pay', ...prepared }).open([item('1.1')]);
    const [call] = viewOf(script.fold()).calls;
    expect(call?.phase).toBe('request');
    expect(call?.votes.map(({ voter }) => voter)).toEqual(voters);
    expect(call?.isEscalated).toBe(voters.length > 0 ? true : undefined);
  });

  test('is one without votes and under the rule of today where an admin wants it asked again', () => {
    const rule = (name: string, need: number) => ({
      ...{ name, then: 'ask' as const, rosters: [], need, groups: [], notRequester: false, denyNeeds: 1 },
      assurance: 'claimed' as const,
    });
    const by = (name: string, need: number) => ({
      ...{ fileDigest: 'f', ruleDigest: name, requesters: ['rita'], rule: rule(name, need) },
      people: ['ann', 'bob'].map((person) => ({ name: person, groups: [], delegates: [] })),
    });
    const renewed = () =>
      asked([ask('1.1', { authority: by('old', 2) })])
        .open([item('1.1')])
        .update(
          'decide',
          { callId: '1.1', decision: 'approved', approver: 'ann' },
          accepted('1.1', 'approved', { needs: { approvals: 1, who: [] } }),
        )
        .update(
          'decide',
          { callId: '1.1', decision: 'ask-again', approver: 'dora', reason: 'all left' },
          accepted('1.1', 'ask-again', { asksAgain: true }),
        )
        .open([]);
    const taken = prepare(renewed(), ask('1.1', { authority: by('new', 1) })).open([item('1.1')]);
    expect(taken.told('decision').at(-1)).toMatchObject({ decision: 'ask-again', reason: 'all left' });
    expect(taken.told('request_opened').at(-1)).toMatchObject({
      authority: { rule: { name: 'new', need: 1 } },
    });
    expect(viewOf(foldAll(taken.events)).calls[0]).toMatchObject({ phase: 'request', votes: [] });
    const head = { kind: 'invalid', callId: '1.1', id: 'i', tool: 'pay', proposed: {} };
    const left = prepare(renewed(), { ...head, result: result('1.1') }).open([item('1.1')]);
    expect(left.told('request_opened').at(-1)).toMatchObject({
      ...{ note: 'it was not asked again: done', arguments: { n: 1 } },
      authority: { rule: { name: 'old', need: 2 } },
    });
    expect(viewOf(foldAll(left.events)).calls[0]).toMatchObject({ votes: [{ voter: 'ann' }] });
  });

  test('is a request again also where it came by signal', () => {
    const edit = { callId: '1.1', decision: 'modified', arguments: { n: 5 }, decisionId: 'd' };
    const script = asked([ask('1.1', { preview: { text: 'old' } })])
      .open([item('1.1')])
      .signal('approval', edit)
      .task()
      .open([])
      .verdicts([{ callId: '1.1', verdict: 'accepted', decisionId: 'd', at: 'x', asksAgain: true }]);
    expect(script.told('decision')).toMatchObject([{ asksAgain: true, judgement: { accepted: true } }]);
    const again = prepare(script, ask('1.1', { arguments: { n: 5 }, preview: { text: 'new' } }));
    expect(again.open([item('1.1')]).told('request_opened')).toHaveLength(2);
  });

  test('one without a preview is approved by it', () => {
    const edit = { callId: '1.1', decision: 'modified', arguments: { n: 5 } };
    const script = asked()
      .open([item('1.1')])
      .update('decide', edit, accepted('1.1', 'modified'));
    expect(viewOf(script.fold()).calls).toMatchObject([{ phase: 'ready', approved: { n: 5 } }]);
  });

  test('stays closed until the memo names it, also when the memo is cut', () => {
    const script = edited().open([], 25);
    expect(script.told('request_opened')).toHaveLength(1);
  });
});

describe('a call of another queue', () => {
  const remote = {
    kind: 'remote' as const,
    callId: '1.1',
    id: 'i',
    tool: 'far',
    taskQueue: 'far',
    raw: '{}',
  };
  const prepared = (value: unknown) => {
    const script = asked([]).think(2, [remote]);
    const activityType = 'countersign.prepare';
    const scheduled = script.scheduled('prepare-1.1', activityType, {}, 'far');
    return script.done(scheduled, value).task();
  };

  test('brings the schema of its tool along', () => {
    const schema = { type: 'object' };
    const script = prepared({ call: ask('1.1', { tool: 'far' }), schema }).open([item('1.1')]);
    expect(script.told('request_opened')).toMatchObject([{ schema }]);
  });

  test('is prepared, then asked for', () => {
    const script = prepared({ call: ask('1.1', { tool: 'far' }) }).open([item('1.1')]);
    expect(script.told('call_prepared', 'request_opened').map((event) => event.type)).toEqual([
      'call_prepared',
      'request_opened',
    ]);
  });

  test.each([
    [
      'invalid',
      {
        call: {
          ...remote,
          kind: 'invalid',
          proposed: {},
          result: result('1.1', { success: false, content: 'bad' }),
        },
      },
      'bad',
    ],
    ['unreadable', undefined, 'could not prepare this call'],
  ])('that is %s ends at once', (_, value, words) => {
    const [ended] = prepared(value).told('call_ended');
    expect(ended?.result.content).toContain(words);
  });
});

describe('a call that a workflow of a user gates', () => {
  /** A workflow that is no turn and gates a call. */
  const gated = (value: unknown = ask('1.1'), key = 'gated.1.1'): Script => {
    const script = new Script();
    script.add({
      ...{ kind: 'started', turn: 'refund-17', runId: 'r', taskQueue: 'q' },
      workflowType: 'refundOrder',
      input: '17',
    });
    script.task().add({ kind: 'memo', fields: { [key]: value } });
    return script;
  };

  test('its workflow type stands for the agent', () => {
    expect(gated().told('turn_started')).toMatchObject([
      { turn: 'refund-17', agent: 'refundOrder', prompt: '' },
    ]);
  });

  test('a call is shown from its memo, and is a request once it is listed as open', () => {
    const before = gated();
    expect(before.told('call_prepared')).toMatchObject([
      { call: { callId: '1.1', tool: 'pay', kind: 'ask' } },
    ]);
    expect(before.told('request_opened')).toEqual([]);
    const script = before.open([item('1.1')]);
    expect(script.told('request_opened')).toMatchObject([
      {
        callId: '1.1',
        callKey: 'key:1.1',
        arguments: { n: 1 },
        seenDigest: seenDigestOf({ argsDigest: digestJson({ n: 1 }) }),
      },
    ]);
    expect(viewOf(foldAll(script.events))).toMatchObject({
      status: 'waiting',
      calls: [{ callId: '1.1', tool: 'pay', step: 1, arguments: { n: 1 }, phase: 'request' }],
    });
  });

  test('a call that a person changed is asked about anew, with what was proposed', () => {
    const edit = { callId: '1.1', decision: 'modified', arguments: { n: 5 } };
    const script = gated(ask('1.1', { preview: { text: 'pays 1' } }))
      .open([item('1.1')])
      .update('decide', edit, accepted('1.1', 'modified', { asksAgain: true }))
      .open([]);
    script.add({ kind: 'memo', fields: { 'gated.1.1': ask('1.1', { arguments: { n: 5 } }) } });
    script.open([item('1.1')]);
    expect(script.told('request_opened')).toMatchObject([
      { arguments: { n: 1 }, preview: { text: 'pays 1' } },
      { arguments: { n: 5 }, proposed: { n: 1 } },
    ]);
    expect(script.told('request_opened')[1]).not.toHaveProperty('preview', expect.anything());
  });

  test.each([
    ['null, as when it closes', null, 'gated.1.1'],
    ['no call', { callId: '1.1' }, 'gated.1.1'],
    ['a call that needs nobody', { ...ask('1.1'), kind: 'run' }, 'gated.1.1'],
    ['a call under the key of another', ask('1.1'), 'gated.1.2'],
    ['a call under a key of somebody else', ask('1.1'), 'open-calls'],
  ])('a memo that holds %s tells nothing', (_, value, key) => {
    const script = gated(value, key).open([item('1.1')]);
    expect([...script.told('call_prepared'), ...script.told('request_opened')]).toEqual([]);
  });
});

test('a call of which somebody else says that it did not start is in doubt', () => {
  const { settings } = run('1.1');
  const call = run('1.1', { settings: { ...settings, effect: 'unsafe' } });
  const script = asked([call]).open([]);
  const scheduled = script.call(call);
  script.done(scheduled, { notHere: 'no agent clerk', secret: 'guessed' }).task();
  expect(script.told('call_waits')).toEqual([]);
  expect(script.told('call_lost')).toHaveLength(1);
});
