import { ask, accepted, item, result, run, Script, thinkOutput } from '../script';

const asked = (calls = [ask('1.1')]) => new Script().started().task().think(1, calls);

test('a request is told only once the memo of its task is there, with all that an approver needs', () => {
  const call = ask('1.1', { preview: { text: '+x' }, proposed: { n: 0 }, policyReason: 'big sum' });
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
    argsDigest: 'd1',
    proposed: { n: 0 },
    preview: { text: '+x' },
    policyReason: 'big sum',
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
  expect(second).not.toHaveProperty('schema');
  for (const older of requestOf(undefined, { timeoutMs: undefined }).slice(0, 1)) {
    expect(older).not.toHaveProperty('schema');
    expect(older).not.toHaveProperty('timeoutMs');
  }
});

test('a request tells that its tool wants each of them decided on its own', () => {
  const calls = [ask('1.1', {}, { noBatch: true }), ask('1.2')];
  const requests = asked(calls)
    .open([item('1.1'), item('1.2')])
    .told('request_opened');
  expect(requests.map(({ noBatch }) => noBatch)).toEqual([true, undefined]);
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

test('the same memo again opens nothing twice', () => {
  expect(
    asked()
      .open([item('1.1')])
      .open([item('1.1')])
      .told('request_opened'),
  ).toHaveLength(1);
});

test('a request whose time is over expires when it leaves the memo, and ends when the model hears of it', () => {
  const script = asked()
    .open([item('1.1')])
    .wait(60_000)
    .task()
    .open([]);
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

test('a request that expires while more are open than the memo names is told too', () => {
  const calls = [ask('1.1'), ask('1.2'), ask('1.3')];
  const script = asked(calls)
    .open([item('1.1')], 3)
    .wait(120_000)
    .task()
    .open([item('1.1')], 2);
  expect(script.told('request_expired').map((event) => event.callId)).toEqual(['1.2', '1.3']);
});

test('cancelling closes requests; they end as cancelled with the turn', () => {
  const script = asked([ask('1.1'), ask('1.2')]).open([item('1.1'), item('1.2')]);
  script.add({ kind: 'cancel_requested', identity: 'cli@host', reason: 'enough' });
  script.task().open([]);
  script.add({ kind: 'canceled' });
  expect(script.told('cancel_requested')).toMatchObject([{ identity: 'cli@host', reason: 'enough' }]);
  expect(script.told('call_ended').map((event) => event.result.error?.code)).toEqual([
    'cancelled',
    'cancelled',
  ]);
  expect(script.fold().at(-1)).toMatchObject({ type: 'turn_ended', status: 'cancelled' });
});

const plan = { path: 'a', baseHash: null, targetHash: 'h', encoding: 'utf8' as const, hunks: [] };

describe('an edit that needs a new plan', () => {
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
    const scheduled = script.add({
      kind: 'activity_scheduled',
      id: 'prepare-1.1',
      activityType,
      taskQueue: 'q',
      input,
    });
    return script.done(scheduled, { call }).task();
  };

  test('is a request again with the new plan, and shows what the model asked for', () => {
    const again = ask('1.1', { arguments: { n: 5 }, argsDigest: 'd5', preview: { text: 'new', plan } });
    const script = prepare(edited(), again).open([item('1.1', { since: '2026-01-01T00:00:20.000Z' })]);
    expect(script.told('decision')).toMatchObject([{ decision: 'modified', asksAgain: true }]);
    expect(script.told('request_opened')).toMatchObject([
      { argsDigest: 'd1', arguments: { n: 1 } },
      { argsDigest: 'd5', arguments: { n: 5 }, proposed: { n: 1 }, preview: { text: 'new' } },
    ]);
  });

  test('is a request again with what it had where no plan could be made', () => {
    const invalid = {
      kind: 'invalid',
      callId: '1.1',
      id: 'i',
      tool: 'pay',
      proposed: {},
      result: result('1.1'),
    };
    const script = prepare(edited(), invalid).open([
      item('1.1', { summary: '1.1 pay (could not be planned)' }),
    ]);
    expect(script.told('request_opened').at(-1)).toMatchObject({
      argsDigest: 'd1',
      arguments: { n: 1 },
      summary: '1.1 pay (could not be planned)',
    });
    expect(script.told('call_ended')).toEqual([]);
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
    const scheduled = script.add({
      kind: 'activity_scheduled',
      id: 'prepare-1.1',
      activityType,
      taskQueue: 'far',
      input: {},
    });
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
