import fc from 'fast-check';
import type { Accepted, Refused } from '../../src/contract/decision';
import type { ValidCall } from '../../src/contract/call';
import { failureOf } from '../../src/lifecycle/results';
import { resultOf } from '../../src/lifecycle/state';
import { nextDeadline } from '../../src/lifecycle/endings';
import { escalationOf } from '../../src/lifecycle/votes';
import { type Calls, type CallShape, callsWith, PLAN, validCall } from '../support/calls';
import type { RuleSnapshot, Voter, Authority } from '../../src/contract/authority';

const person = (name: string, groups: string[]): Voter => ({ name, groups, delegates: [] });
const PEOPLE = [
  person('anna', ['finance']),
  person('bob', ['finance']),
  person('cleo', ['finance']),
  person('lea', ['leads']),
];
const authority = (changes: Partial<RuleSnapshot> = {}): Authority => ({
  fileDigest: 'f',
  ruleDigest: 'r',
  people: PEOPLE,
  requesters: ['rita'],
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [['group:finance']], need: 2, groups: [] },
    ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' },
    ...changes,
  },
});

const openedUnder = (all: Authority, shape: CallShape = {}): Calls =>
  callsWith({ ...validCall(shape), authority: all });

const opened = (changes: Partial<RuleSnapshot> = {}, shape: CallShape = {}): Calls =>
  openedUnder(authority(changes), shape);

function say(calls: Calls, approver: string, more: object = {}): Accepted | Refused {
  const { seenDigest } = calls.call();
  return calls.say('decision', { callId: '1.1', decision: 'approved', approver, seenDigest, ...more });
}

describe('a call that needs two', () => {
  it('waits for the second, and holds both votes then', () => {
    const approvals = opened();
    expect(say(approvals, 'anna')).toMatchObject({
      accepted: true,
      needs: { approvals: 1, who: ['bob', 'cleo'] },
    });
    expect(approvals.call().phase).toBe('request');
    expect(say(approvals, 'bob')).not.toHaveProperty('needs', expect.anything());
    expect(approvals.call().phase).toBe('ready');
    expect(approvals.start()).toMatchObject({
      approver: 'anna, bob',
      votes: [
        { voter: 'anna', seenDigest: approvals.call().seenDigest },
        { voter: 'bob', seenDigest: approvals.call().seenDigest },
      ],
    });
  });

  it.each<[string, string, object, string]>([
    ['one of another group', 'lea', {}, 'not_allowed'],
    ['nobody by name', 'somebody', {}, 'not_allowed'],
    ['a name that looks like another', 'аnna', {}, 'not_allowed'],
    ['a vote that does not say what was seen', 'bob', { seenDigest: undefined }, 'malformed'],
    ['a vote on what was shown before', 'bob', { seenDigest: 'a'.repeat(64) }, 'stale_args'],
    ['the same person once more', 'anna', {}, 'already_decided'],
    ['the same person in capitals', 'ANNA', {}, 'already_decided'],
    ['a vote that somebody else takes back', 'bob', { decision: 'withdrawn' }, 'malformed'],
    [
      'an edit by one of another group',
      'lea',
      { decision: 'modified', arguments: { amount: 1 } },
      'not_allowed',
    ],
    ['a denial by one of another group', 'lea', { decision: 'denied' }, 'not_allowed'],
  ])('refuses %s', (_, approver, more, code) => {
    const approvals = opened();
    say(approvals, 'anna');
    expect(say(approvals, approver, more)).toMatchObject({ accepted: false, code });
    expect(approvals.call()).toMatchObject({ phase: 'request', votes: [{ voter: 'anna' }] });
  });

  it('is denied by one of them', () => {
    const approvals = opened();
    say(approvals, 'anna');
    expect(say(approvals, 'bob', { decision: 'denied', reason: 'no' })).not.toHaveProperty(
      'needs',
      expect.anything(),
    );
    expect(approvals.call()).toMatchObject({ phase: 'done', result: { error: { code: 'denied' } } });
  });

  it('is denied by two where its rule wants two', () => {
    const approvals = opened({ denyNeeds: 2 });
    expect(say(approvals, 'anna', { decision: 'denied' })).toHaveProperty('needs');
    expect(approvals.call().phase).toBe('request');
    say(approvals, 'bob', { decision: 'denied' });
    expect(approvals.call().phase).toBe('done');
  });

  it('lets a voter change their mind until then', () => {
    const approvals = opened({ denyNeeds: 2 });
    say(approvals, 'anna', { decision: 'denied' });
    say(approvals, 'anna');
    expect(approvals.call().votes).toMatchObject([{ voter: 'anna', decision: 'approved' }]);
    expect(say(approvals, 'anna', { decision: 'withdrawn' })).toMatchObject({
      needs: { approvals: 2 },
    });
    expect(approvals.call().votes).toEqual([]);
  });

  it('runs the hunks that both approved, in whatever order they named them', () => {
    const approvals = opened({ assurance: 'signed' }, { plan: PLAN });
    expect(say(approvals, 'anna', { hunks: ['1', '2'] })).toMatchObject({ needs: { approvals: 1 } });
    expect(say(approvals, 'bob', { hunks: ['2', '1'] })).toMatchObject({ accepted: true });
    expect(approvals.start()).toMatchObject({
      hunks: ['2', '1'],
      votes: [{ hunks: ['1', '2'] }, { hunks: ['2', '1'] }],
    });
  });

  it.each<[string, object, object]>([
    ['all after some', { hunks: ['1'] }, {}],
    ['some after all', {}, { hunks: ['1'] }],
    ['others', { hunks: ['1'] }, { hunks: ['2'] }],
    ['more', { hunks: ['1'] }, { hunks: ['1', '2'] }],
  ])('adds no vote for other hunks: %s', (_, first, second) => {
    const approvals = opened({}, { plan: PLAN });
    say(approvals, 'anna', first);
    expect(say(approvals, 'bob', second)).toMatchObject({
      code: 'malformed',
      message: expect.stringMatching(/^anna approved .*only for the same/),
    });
    expect(approvals.call()).toMatchObject({ phase: 'request', votes: [{ voter: 'anna' }] });
    say(approvals, 'anna', { decision: 'withdrawn' });
    expect(say(approvals, 'bob', second)).toMatchObject({ accepted: true, needs: { approvals: 1 } });
  });

  it('is denied by who approves none of the hunks', () => {
    const approvals = opened({}, { plan: PLAN });
    say(approvals, 'anna', { hunks: ['1'] });
    expect(say(approvals, 'bob', { hunks: [] })).not.toHaveProperty('needs', expect.anything());
    expect(approvals.call().phase).toBe('done');
  });
});

it('makes a new request of an edit, without the votes, and under both rules', () => {
  const approvals = opened();
  say(approvals, 'anna');
  const edit = { decision: 'modified', arguments: { amount: 900 } };
  expect(say(approvals, 'bob', edit)).toMatchObject({ asksAgain: true });
  const call: ValidCall = {
    ...validCall({ args: { amount: 900 } }),
    authority: authority({ name: 'huge', need: 1, rosters: [['anna', 'bob', 'lea']] }),
  };
  approvals.do({ type: 'prepared', callId: '1.1', prepared: call, at: 2 });
  expect(approvals.call()).toMatchObject({
    phase: 'request',
    call: { authority: { rule: { name: 'huge', need: 2 } } },
  });
  expect(approvals.call().votes).toEqual([]);
  expect(say(approvals, 'cleo')).toMatchObject({ code: 'not_allowed' });
  expect(say(approvals, 'lea')).toMatchObject({ code: 'not_allowed' });
  say(approvals, 'bob');
  say(approvals, 'anna');
  expect(approvals.call().phase).toBe('ready');
});

describe('a worker that finds that votes do not count', () => {
  const ready = (secret?: string): Calls => {
    const approvals = opened();
    say(approvals, 'anna');
    say(approvals, 'bob', { decisionId: 'of-bob' });
    approvals.start('1.1', secret);
    return approvals;
  };

  it('has them struck out by name; the others need not vote again', () => {
    const approvals = ready('s');
    const settlement = { askAgain: 'bob is gone', struck: ['bob'], secret: 's' };
    approvals.do({ type: 'settle', callId: '1.1', settlement }, 2);
    expect(approvals.call()).toMatchObject({
      phase: 'request',
      note: 'bob is gone',
      votes: [{ voter: 'anna' }],
    });
    expect(say(approvals, 'bob', { decisionId: 'of-bob' })).toMatchObject({ code: 'stale_args' });
    say(approvals, 'cleo');
    expect(approvals.call().phase).toBe('ready');
  });

  it('can ask for more by its own file', () => {
    const approvals = ready('s');
    const settlement = { askAgain: 'three', struck: [], authority: authority({ need: 3 }), secret: 's' };
    approvals.do({ type: 'settle', callId: '1.1', settlement }, 2);
    expect(approvals.call()).toMatchObject({
      phase: 'request',
      votes: [{ voter: 'anna' }, { voter: 'bob' }],
    });
    say(approvals, 'cleo');
    expect(approvals.call().phase).toBe('ready');
  });

  it.each([
    ['without its secret', undefined],
    ['with another secret', 'x'],
  ])('is not believed of an unsafe call %s: it is in doubt', (_, secret) => {
    const approvals = ready('s');
    const settlement = { askAgain: 'again', struck: ['bob'], ...(secret === undefined ? {} : { secret }) };
    approvals.do({ type: 'settle', callId: '1.1', settlement }, 2);
    expect(approvals.call().phase).toBe('in_doubt');
  });
});

it('wants the same votes to run a call in doubt again, and one of them to say that it happened', () => {
  const approvals = opened();
  say(approvals, 'anna');
  say(approvals, 'bob');
  approvals.start();
  approvals.lose('1.1', 2);
  const resolve = (approver: string, resolution: string) =>
    approvals.say('resolution', { callId: '1.1', resolution, approver }, 3);
  expect(resolve('lea', 'happened')).toMatchObject({ code: 'not_allowed' });
  expect(resolve('lea', 'did-not')).toMatchObject({ code: 'not_allowed' });
  expect(resolve('anna', 'run-again')).toMatchObject({ accepted: true, needs: { approvals: 1 } });
  expect(approvals.call().phase).toBe('in_doubt');
  resolve('cleo', 'run-again');
  expect(approvals.start()).toMatchObject({
    approver: 'anna, cleo',
    votes: [{ voter: 'anna' }, { voter: 'cleo' }],
  });
});

it('lets more people decide once its time for that has come, once', () => {
  const approvals = opened({ need: 1, escalate: { afterMs: 1000, to: ['group:leads'] } });
  expect(escalationOf(approvals.call())).toBe(1000);
  expect(nextDeadline(approvals.state)).toBe(1000);
  expect(approvals.do({ type: 'look' }, 999)).toEqual({ events: [] });
  expect(say(approvals, 'lea')).toMatchObject({ code: 'not_allowed' });
  expect(approvals.do({ type: 'look' }, 1000)).toMatchObject({ events: [{ type: 'escalated' }] });
  expect(approvals.do({ type: 'look' }, 1001)).toEqual({ events: [] });
  expect(nextDeadline(approvals.state)).toBe(60_000);
  say(approvals, 'lea');
  expect(approvals.call().phase).toBe('ready');
});

it('expires when its rule says so, if that is sooner', () => {
  const approvals = opened({ expiresMs: 1000 });
  expect(nextDeadline(approvals.state)).toBe(1000);
  const other = opened({ expiresMs: 100_000 });
  expect(nextDeadline(other.state)).toBe(60_000);
});

describe('a delegate with a time', () => {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const withDora = (time: object): Calls => {
    const anna = { ...person('anna', ['finance']), delegates: [{ name: 'dora', ...time }] };
    const people = [anna, ...PEOPLE.slice(1), person('dora', [])];
    return openedUnder({ ...authority({ need: 1 }), people });
  };

  it.each<[string, object, boolean]>([
    ['in it', { from: iso(1), until: iso(2) }, true],
    ['before it', { from: iso(2) }, false],
    ['after it', { until: iso(1) }, false],
  ])('votes only %s', (_case, time, isTaken) => {
    const approvals = withDora(time);
    expect(say(approvals, 'dora').accepted).toBe(isTaken);
    expect(approvals.call().phase).toBe(isTaken ? 'ready' : 'request');
  });

  it('resolves a call in doubt only in it', () => {
    const approvals = withDora({ until: iso(3) });
    say(approvals, 'anna');
    approvals.start();
    approvals.lose('1.1', 2);
    const message = { callId: '1.1', resolution: 'did-not', approver: 'dora' };
    expect(approvals.say('resolution', message, 3)).toMatchObject({ code: 'not_allowed' });
    expect(approvals.say('resolution', message, 2)).toMatchObject({ accepted: true });
  });

  it('gives a call up by the time when they said so', () => {
    const approvals = withDora({ until: iso(3) });
    say(approvals, 'anna');
    approvals.start();
    approvals.lose('1.1', 2);
    approvals.do({ type: 'cancel' }, 2);
    approvals.do({ type: 'abandon', by: { approver: 'dora' } }, 3);
    approvals.do({ type: 'look' }, 3);
    expect(approvals.call().phase).toBe('in_doubt');
    approvals.do({ type: 'abandon', by: { approver: 'dora' } }, 2);
    approvals.do({ type: 'look' }, 4);
    expect(approvals.call().phase).toBe('done');
  });
});

/** What anybody may say, in any order. */
const ACT = fc.record({
  approver: fc.constantFrom('anna', 'bob', 'cleo', 'lea', 'mallory', 'ANNA'),
  decision: fc.constantFrom('approved', 'denied', 'withdrawn', 'edit'),
  stale: fc.boolean(),
});

it('never lets a call run without as many approvals of what would run as its rule wants', () => {
  const numbers = fc.record({
    need: fc.integer({ min: 1, max: 3 }),
    denyNeeds: fc.integer({ min: 1, max: 2 }),
  });
  fc.assert(
    fc.property(numbers, fc.array(ACT, { maxLength: 20 }), (rule, acts) => {
      const approvals = opened(rule);
      let amount = 10;
      let seen = new Map<string, string>();
      for (const { approver, decision, stale } of acts) {
        if (approvals.call().phase !== 'request') break;
        const seenDigest = stale ? 'a'.repeat(64) : approvals.call().seenDigest;
        amount += 1;
        const edit = { decision: 'modified', arguments: { amount } };
        const more = { seenDigest, ...(decision === 'edit' ? edit : { decision }) };
        const verdict = say(approvals, approver, more);
        if (!verdict.accepted) continue;
        if (decision === 'edit') {
          const prepared = { ...validCall({ args: { amount } }), authority: authority(rule) };
          approvals.do({ type: 'prepared', callId: '1.1', prepared, at: 2 });
          seen = new Map();
        } else if (decision === 'withdrawn') seen.delete(approver.toLowerCase());
        else seen.set(approver.toLowerCase(), decision);
      }
      const approvers = [...seen].filter(([, word]) => word === 'approved').map(([name]) => name);
      const isFinance = (name: string): boolean => ['anna', 'bob', 'cleo'].includes(name);
      if (approvals.call().phase === 'ready') {
        expect(approvers.filter(isFinance).length).toBeGreaterThanOrEqual(rule.need);
        expect(
          approvals.start()?.votes?.every((vote) => vote.seenDigest === approvals.call().seenDigest),
        ).toBe(true);
      } else expect(() => approvals.start()).toThrow();
    }),
  );
});

describe('asking again', () => {
  const again = { decision: 'ask-again', reason: 'all left' };
  const renewing = (): Calls => {
    const approvals = opened({ expiresMs: 1000, escalate: { afterMs: 10, to: ['lea'] } });
    say(approvals, 'anna');
    approvals.do({ type: 'look' }, 20);
    // Whether dora may is not known here.
    expect(say(approvals, 'dora', again)).toMatchObject({ accepted: true, asksAgain: true });
    expect(approvals.call()).toMatchObject({ phase: 'preparing', votes: [{ voter: 'anna' }] });
    return approvals;
  };

  it('leaves the rule it was under and its votes behind, and keeps who asked for the turn', () => {
    const approvals = renewing();
    const today = { ...authority({ name: 'small', need: 1, rosters: [['lea']] }), requesters: ['sam'] };
    approvals.do({
      type: 'prepared',
      callId: '1.1',
      prepared: { ...validCall(), authority: today },
      at: 500,
    });
    expect(approvals.call()).toMatchObject({
      ...{ phase: 'request', since: 500, votes: [] },
      call: { authority: { rule: { name: 'small', need: 1 }, requesters: ['rita', 'sam'] } },
    });
    const { isEscalated, note } = approvals.call();
    expect([isEscalated, note]).toEqual([undefined, undefined]);
  });

  it('changes nothing but its note where nothing comes of it', () => {
    const approvals = renewing();
    const result = failureOf(approvals.call(), { code: 'refused', message: 'dora is not an admin' }, 5);
    const before = structuredClone(approvals.call().call);
    const prepared = { ...validCall(), kind: 'invalid' as const, proposed: {}, result };
    approvals.do({ type: 'prepared', callId: '1.1', prepared, at: 500 });
    expect(approvals.call()).toMatchObject({ phase: 'request', since: 0, deadline: 1000, isEscalated: true });
    expect(approvals.call()).toMatchObject({ votes: [{ voter: 'anna' }], call: before });
    expect(approvals.call().note).toMatch(/^it was not asked again: .*dora is not an admin/);
  });

  it('is for the calls of turns only: a gate asks again by itself', () => {
    const call = { ...validCall(), settings: { ...validCall().settings, gate: {} } };
    const approvals = callsWith(call);
    expect(say(approvals, 'dora', again)).toMatchObject({ code: 'malformed' });
    expect(approvals.call().phase).toBe('request');
  });
});

describe('giving up a call in doubt', () => {
  const doubtful = (): Calls => {
    const approvals = opened({ need: 1 });
    say(approvals, 'anna');
    approvals.start();
    approvals.lose('1.1', 2);
    approvals.do({ type: 'cancel' }, 2);
    return approvals;
  };
  const giveUp = (approvals: Calls, ...approvers: (string | undefined)[]): void => {
    for (const approver of approvers)
      approvals.do({ type: 'abandon', by: approver === undefined ? {} : { approver } }, 3);
    approvals.do({ type: 'look' }, 3);
  };

  it.each([['lea'], ['mallory'], [undefined]])('is not for %s, whom the rule does not name', (approver) => {
    const approvals = doubtful();
    giveUp(approvals, approver);
    expect(approvals.call().phase).toBe('in_doubt');
    expect(approvals.call().note).toMatch(
      /^not given up: .* is not named by the rule; these may: anna, bob, cleo/,
    );
  });

  it.each([
    ['alone', ['bob']],
    ['after somebody who may not', ['lea', 'bob']],
    ['before somebody who may not', ['bob', 'mallory']],
  ])('is for those whom the rule names, %s', (_, approvers) => {
    const approvals = doubtful();
    giveUp(approvals, ...approvers);
    expect(approvals.call()).toMatchObject({ phase: 'done', result: { success: false } });
    expect(resultOf(approvals.call())?.content).toContain('bob');
  });
});

describe('a vote decides a call only in its own sense', () => {
  /** Anna, Bob and Lea have approved. A worker then strikes out Anna, and the two others are enough. */
  const struck = (): Calls => {
    const rule = { need: 1, groups: ['finance', 'leads'], denyNeeds: 2 };
    const approvals = openedUnder({
      ...authority({ ...rule, rosters: [['group:finance', 'group:leads', 'paul']] }),
      people: [...PEOPLE, person('paul', [])],
    });
    for (const name of ['paul', 'bob', 'lea']) say(approvals, name);
    approvals.start('1.1', 's');
    const settlement = { askAgain: 'void', struck: ['paul'], secret: 's' };
    approvals.do({ type: 'settle', callId: '1.1', settlement }, 2);
    return approvals;
  };

  it('a denial lets nothing run, although the votes that are left are enough', () => {
    const approvals = struck();
    expect(approvals.call()).toMatchObject({ phase: 'request', votes: [{ voter: 'bob' }, { voter: 'lea' }] });
    expect(say(approvals, 'anna', { decision: 'denied' })).toMatchObject({
      accepted: true,
      decision: 'denied',
      needs: { approvals: 0 },
    });
    expect(approvals.call().phase).toBe('request');
    expect(say(approvals, 'cleo')).not.toHaveProperty('needs', expect.anything());
    expect(approvals.call()).toMatchObject({
      phase: 'ready',
      leave: { decision: { approver: 'bob, lea, cleo' } },
    });
  });

  it('an approval denies nothing, although the denials are enough since the request was escalated', () => {
    const approvals = openedUnder({
      ...authority({ denyNeeds: 2, escalate: { afterMs: 10, to: ['paul'] } }),
      people: [
        { ...person('anna', ['finance']), delegates: [{ name: 'paul' }] },
        ...PEOPLE.slice(1),
        person('paul', []),
      ],
    });
    for (const name of ['anna', 'paul']) say(approvals, name, { decision: 'denied' });
    expect(approvals.call().phase).toBe('request');
    approvals.do({ type: 'look' }, 10);
    expect(say(approvals, 'bob')).toHaveProperty('needs');
    expect(approvals.call().phase).toBe('request');
    say(approvals, 'cleo', { decision: 'denied' });
    expect(approvals.call()).toMatchObject({ phase: 'done', result: { error: { code: 'denied' } } });
  });
});
