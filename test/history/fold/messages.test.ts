import { REFUSAL_CODES } from '../../../src/contract/decision';
import { rule } from '../../authority/votes/support';
import { accepted, ask, item, requested, Script } from '../script';

const open = (...ids: string[]) =>
  new Script()
    .started()
    .task()
    .think(
      1,
      (ids.length ? ids : ['1.1']).map((id) => ask(id)),
    )
    .open((ids.length ? ids : ['1.1']).map((id) => item(id)));

describe('by update', () => {
  test('an accepted decision tells who, why, by which door', () => {
    const said = { callId: '1.1', decision: 'approved', reason: 'fine', hunks: ['1'], channel: 'cli' };
    expect(open().update('decide', said, accepted('1.1', 'approved')).told('decision')).toMatchObject([
      {
        callId: '1.1',
        decision: 'approved',
        approver: 'ann',
        reason: 'fine',
        hunks: ['1'],
        channel: 'cli',
        door: 'update',
        identity: 'web@host',
        decisionId: 'd-1.1-approved',
        judgement: { accepted: true },
      },
    ]);
  });

  test.each([
    ['approved', {}, true],
    ['approved', { seenDigest: 'a'.repeat(64) }, undefined],
    ['approved', { seenDigest: 'short' }, true],
    ['modified', { arguments: { n: 2 } }, true],
    ['denied', {}, undefined],
  ])('%s with %j: it shows whether it is bound to what was seen, as %s', (decision, more, unbound) => {
    const said = { callId: '1.1', decision, ...more };
    const [event] = open().update('decide', said, accepted('1.1', decision)).told('decision');
    expect(event?.unbound).toBe(unbound);
  });

  test.each([
    [{ authenticated: true }, true],
    [{}, undefined],
    // Anybody can send anything: only the very word counts.
    [{ authenticated: 'true' }, undefined],
    [{ authenticated: 1 }, undefined],
    [{ authenticated: false }, undefined],
  ])('%j: whether its approver was signed in is shown as %s', (claim, told) => {
    const said = { callId: '1.1', decision: 'approved', channel: 'web', ...claim };
    const [event] = open().update('decide', said, accepted('1.1', 'approved')).told('decision');
    expect(event?.authenticated).toBe(told);
  });

  test('one that lost to another message of its task is shown as refused', () => {
    const refused = {
      accepted: false,
      code: 'already_decided',
      message: 'already denied by bob',
      callId: '1.1',
    };
    const script = open().update('decide', { callId: '1.1', decision: 'approved' }, refused);
    expect(script.told('decision')[0]?.judgement).toEqual({
      accepted: false,
      code: 'already_decided',
      message: 'already denied by bob',
    });
  });

  test('updates of other kinds are not ours to tell', () => {
    expect(open().update('other', { callId: '1.1' }, accepted('1.1', 'approved')).told('decision')).toEqual(
      [],
    );
  });

  test('an approver who gave no name is somebody, as in the workflow', () => {
    const { approver: _, ...nameless } = accepted('1.1', 'approved');
    const script = open()
      .signal('approval', { callId: '1.1', decision: 'approved' })
      .verdicts([{ ...nameless, verdict: 'accepted' }]);
    expect(script.told('decision')[0]?.approver).toBe('somebody');
  });
});

describe('by signal', () => {
  const toldOf = (script: ReturnType<typeof open>) =>
    script
      .told('decision', 'call_started')
      .map((event) =>
        event.type === 'decision'
          ? [event.type, event.approver, event.judgement.accepted]
          : [event.type, event.decision?.approver, undefined],
      );
  const verdict = (callId: string, word: string) => ({ callId, verdict: word, decisionId: '', at: '' });

  test('it is recorded first and judged with the memo', () => {
    const script = open().signal('approval', {
      callId: '1.1',
      decision: 'denied',
      approver: 'bob',
      reason: 'no',
    });
    expect(script.told('signal_recorded')).toMatchObject([
      { signal: 'approval', callId: '1.1', approver: 'bob' },
    ]);
    expect(script.told('decision')).toEqual([]);
    script
      .task()
      .open([])
      .verdicts([verdict('1.1', 'accepted')]);
    expect(script.told('decision')).toMatchObject([
      { decision: 'denied', approver: 'bob', channel: 'signal', judgement: { accepted: true } },
    ]);
  });

  test.each(REFUSAL_CODES)('a refusal keeps its code: %s', (code) => {
    const script = open()
      .signal('approval', { callId: '1.1', decision: 'approved' })
      .task()
      .verdicts([verdict('1.1', code)]);
    expect(script.told('decision')[0]?.judgement).toEqual({ accepted: false, code });
  });

  test.each([
    null,
    undefined,
    7,
    'x',
    [],
    {},
    { callId: 5, decision: {} },
    { callId: '1.1', decision: 'perhaps', hunks: 3, arguments: [] },
    { callId: '1.1\u001b[2K', decision: 'yes', seenDigest: 7, reason: 'x'.repeat(1_900_000) },
  ])('a payload of %j is shown and stops nothing', (input) => {
    const script = open()
      .signal('approval', input)
      .task()
      .verdicts([verdict('', 'malformed')]);
    expect(script.told('decision')).toMatchObject([
      { judgement: { accepted: false, code: 'malformed' }, approver: 'somebody' },
    ]);
    expect(script.told('decision')[0]).not.toHaveProperty('decision', expect.anything());
  });

  test('verdicts belong to signals in order, and the last ones to the last signals', () => {
    const script = open();
    for (let n = 0; n < 22; n++) script.signal('approval', { callId: `c${n}`, decision: 'approved' });
    script
      .task()
      .verdicts(
        Array.from({ length: 20 }, (_, n) => verdict(`c${n + 2}`, n === 19 ? 'accepted' : 'unknown_call')),
      );
    const told = script.told('decision').map(({ callId, judgement }) => [callId, judgement.accepted]);
    expect(told.slice(0, 3)).toEqual([
      ['c0', 'unknown'],
      ['c1', 'unknown'],
      ['c2', false],
    ]);
    expect(told.at(-1)).toEqual(['c21', true]);
  });

  test('older verdicts that the memo still keeps are not judged again', () => {
    const first = verdict('1.1', 'unknown_call');
    const script = open()
      .signal('approval', { callId: '9.9', decision: 'approved' })
      .task()
      .verdicts([first]);
    script
      .signal('approval', { callId: '1.1', decision: 'approved' })
      .task()
      .verdicts([first, verdict('1.1', 'accepted')]);
    expect(script.told('decision').map(({ judgement }) => judgement.accepted)).toEqual([false, true]);
  });

  test('a call it allows starts after the decision is shown, though its verdict is written later', () => {
    const script = open().signal('approval', { callId: '1.1', decision: 'approved', approver: 'bob' }).task();
    script.call(ask('1.1'), { decision: { decisionId: 'drawn', decision: 'approved', approver: 'bob' } });
    script.open([]).verdicts([verdict('1.1', 'accepted')]);
    expect(script.told('decision', 'call_started').map((event) => event.type)).toEqual([
      'decision',
      'call_started',
    ]);
  });

  test.each([
    ['that denied', { decision: 'denied', approver: 'mallory' }],
    ['of somebody else', { decision: 'approved', approver: 'mallory' }],
  ])('a signal without an id %s is not taken for the decision that the call spends', (_, said) => {
    const script = open()
      .signal('approval', { callId: '1.1', ...said })
      .signal('approval', { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'd' })
      .task();
    script.call(ask('1.1'), { decision: { decisionId: 'd', decision: 'approved', approver: 'ann' } });
    script.open([]).verdicts([verdict('1.1', 'not_allowed'), verdict('1.1', 'accepted')]);
    expect(toldOf(script)).toEqual([
      ['decision', 'ann', true],
      ['call_started', 'ann', undefined],
      ['decision', 'mallory', false],
    ]);
  });

  test('where no signal has an id, the one of whose approver it is allowed the call', () => {
    const script = open()
      .signal('approval', { callId: '1.1', decision: 'approved', approver: 'mallory' })
      .signal('approval', { callId: '1.1', decision: 'approved', approver: 'ANN' })
      .task();
    script.call(ask('1.1'), { decision: { decisionId: 'drawn', decision: 'approved', approver: 'ann' } });
    script.open([]).verdicts([verdict('1.1', 'not_allowed'), verdict('1.1', 'accepted')]);
    expect(toldOf(script)).toEqual([
      ['decision', 'ANN', true],
      ['call_started', 'ann', undefined],
      ['decision', 'mallory', false],
    ]);
  });

  test('under a rule, the last voter may name themselves by mail address', () => {
    const people = [{ name: 'ann', groups: [], delegates: [], mail: 'ann@example.com' }];
    const authority = {
      ...{ fileDigest: 'f', ruleDigest: 'r', people, requesters: [] },
      rule: { name: 'pay', then: 'ask' as const, ...rule({ rosters: [['ann']] }) },
    };
    const script = requested({ authority })
      .signal('approval', { callId: '1.1', decision: 'approved', approver: 'eve' })
      .signal('approval', { callId: '1.1', decision: 'approved', approver: 'ann@EXAMPLE.com' })
      .task();
    const votes = [{ voter: 'ann', decision: 'approved', decisionId: 'drawn', at: '' }];
    const decision = { decisionId: 'drawn', decision: 'approved', approver: 'ann', votes };
    script.call(ask('1.1'), { decision });
    script.open([]).verdicts([verdict('1.1', 'not_allowed'), verdict('1.1', 'accepted')]);
    expect(toldOf(script)).toEqual([
      ['decision', 'ann@EXAMPLE.com', true],
      ['call_started', 'ann', undefined],
      ['decision', 'eve', false],
    ]);
  });

  test('a decision that comes by both doors is shown once', () => {
    const content = { callId: '1.1', decision: 'approved', decisionId: 'd-1.1-approved' };
    const script = open()
      .signal('approval', content)
      .task()
      .verdicts([verdict('1.1', 'accepted')]);
    expect(script.update('decide', content, accepted('1.1', 'approved')).told('decision')).toHaveLength(1);
  });
});

test.each([
  ['denied', { decision: 'denied', reason: 'no' }, 'ann denied this call: no. Nothing ran.'],
  [
    'denied with a suggestion',
    { decision: 'denied', reason: 'no', suggestion: 'Ask again' },
    'ann denied this call: no. Do this instead, says ann: Ask again. Nothing ran.',
  ],
  [
    'approved without a hunk',
    { decision: 'approved', hunks: [] },
    'ann denied this call: no reason was given. Nothing ran.',
  ],
])('%s: the call ends as denied, even where no step comes after it', (_, said, message) => {
  const script = open()
    .update('decide', { callId: '1.1', ...said }, accepted('1.1', said.decision))
    .open([]);
  script.add({ kind: 'completed', result: { status: 'step_limit', answer: '' } });
  expect(script.told('call_ended')[0]?.result.error).toEqual({ code: 'denied', message });
});
