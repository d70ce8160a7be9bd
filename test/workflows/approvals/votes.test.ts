import fc from 'fast-check';
import type { Accepted, Refused } from '../../../src/contract/decision';
import type { ValidCall } from '../../../src/contract/call';
import { judgeDecision, takeDecision } from '../../../src/workflows/approvals/judge-decision';
import { judgeResolution, takeResolution } from '../../../src/workflows/approvals/judge-resolution';
import { type Approvals, type CallState, makeApprovals } from '../../../src/workflows/approvals/state';
import {
  failureOf,
  nextDeadline,
  register,
  reopen,
  settle,
  start,
} from '../../../src/workflows/approvals/transitions';
import { escalate, escalationOf } from '../../../src/workflows/approvals/votes';
import { PAY_SCHEMA, PLAN, validCall, type CallShape } from '../../support/calls';
import type { RuleSnapshot, Voter, Authority } from '../../../src/contract/authority';
import { sweepAbandoned, takeAbandonment } from '../../../src/workflows/approvals/abandon';

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

function opened(changes: Partial<RuleSnapshot> = {}, shape: CallShape = {}): [Approvals, CallState] {
  const approvals = makeApprovals();
  approvals.schemas.set('pay-1', PAY_SCHEMA);
  const call: ValidCall = { ...validCall(shape), authority: authority(changes) };
  return [approvals, register(approvals, call, { callKey: 'k:1.1', now: 0 })];
}

let drawn = 0;
function say(
  approvals: Approvals,
  state: CallState,
  approver: string,
  more: object = {},
): Accepted | Refused {
  const message = {
    ...{ callId: '1.1', decision: 'approved', approver, seenDigest: state.seenDigest },
    ...more,
  };
  const judged = judgeDecision(approvals, message, 1);
  if (judged.kind === 'refuse') return judged.refused;
  if (judged.kind === 'repeat') return judged.spent.verdict;
  drawn += 1;
  const { decisionId = `d${drawn}` } = judged.message;
  return takeDecision(approvals, judged, { now: 1, decisionId });
}

describe('a call that needs two', () => {
  it('waits for the second, and holds both votes then', () => {
    const [approvals, state] = opened();
    expect(say(approvals, state, 'anna')).toMatchObject({
      accepted: true,
      needs: { approvals: 1, who: ['bob', 'cleo'] },
    });
    expect(state.phase).toBe('request');
    expect(say(approvals, state, 'bob')).not.toHaveProperty('needs', expect.anything());
    expect(state.phase).toBe('ready');
    expect(start(state)).toMatchObject({
      approver: 'anna, bob',
      votes: [
        { voter: 'anna', seenDigest: state.seenDigest },
        { voter: 'bob', seenDigest: state.seenDigest },
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
    const [approvals, state] = opened();
    say(approvals, state, 'anna');
    expect(say(approvals, state, approver, more)).toMatchObject({ accepted: false, code });
    expect(state).toMatchObject({ phase: 'request', votes: [{ voter: 'anna' }] });
  });

  it('is denied by one of them', () => {
    const [approvals, state] = opened();
    say(approvals, state, 'anna');
    expect(say(approvals, state, 'bob', { decision: 'denied', reason: 'no' })).not.toHaveProperty(
      'needs',
      expect.anything(),
    );
    expect(state).toMatchObject({ phase: 'done', result: { error: { code: 'denied' } } });
  });

  it('is denied by two where its rule wants two', () => {
    const [approvals, state] = opened({ denyNeeds: 2 });
    expect(say(approvals, state, 'anna', { decision: 'denied' })).toHaveProperty('needs');
    expect(state.phase).toBe('request');
    say(approvals, state, 'bob', { decision: 'denied' });
    expect(state.phase).toBe('done');
  });

  it('lets a voter change their mind until then', () => {
    const [approvals, state] = opened({ denyNeeds: 2 });
    say(approvals, state, 'anna', { decision: 'denied' });
    say(approvals, state, 'anna');
    expect(state.votes).toMatchObject([{ voter: 'anna', decision: 'approved' }]);
    expect(say(approvals, state, 'anna', { decision: 'withdrawn' })).toMatchObject({
      needs: { approvals: 2 },
    });
    expect(state.votes).toEqual([]);
  });

  it('runs the hunks that both approved, in whatever order they named them', () => {
    const [approvals, state] = opened({ assurance: 'signed' }, { plan: PLAN });
    expect(say(approvals, state, 'anna', { hunks: ['1', '2'] })).toMatchObject({ needs: { approvals: 1 } });
    expect(say(approvals, state, 'bob', { hunks: ['2', '1'] })).toMatchObject({ accepted: true });
    expect(start(state)).toMatchObject({
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
    const [approvals, state] = opened({}, { plan: PLAN });
    say(approvals, state, 'anna', first);
    expect(say(approvals, state, 'bob', second)).toMatchObject({
      code: 'malformed',
      message: expect.stringMatching(/^anna approved .*only for the same/),
    });
    expect(state).toMatchObject({ phase: 'request', votes: [{ voter: 'anna' }] });
    say(approvals, state, 'anna', { decision: 'withdrawn' });
    expect(say(approvals, state, 'bob', second)).toMatchObject({ accepted: true, needs: { approvals: 1 } });
  });

  it('is denied by who approves none of the hunks', () => {
    const [approvals, state] = opened({}, { plan: PLAN });
    say(approvals, state, 'anna', { hunks: ['1'] });
    expect(say(approvals, state, 'bob', { hunks: [] })).not.toHaveProperty('needs', expect.anything());
    expect(state.phase).toBe('done');
  });
});

it('makes a new request of an edit, without the votes, and under both rules', () => {
  const [approvals, state] = opened();
  say(approvals, state, 'anna');
  const edit = { decision: 'modified', arguments: { amount: 900 } };
  expect(say(approvals, state, 'bob', edit)).toMatchObject({ asksAgain: true });
  const call: ValidCall = {
    ...validCall({ args: { amount: 900 } }),
    authority: authority({ name: 'huge', need: 1, rosters: [['anna', 'bob', 'lea']] }),
  };
  reopen(state, call, 2);
  expect(state).toMatchObject({ phase: 'request', call: { authority: { rule: { name: 'huge', need: 2 } } } });
  expect(state.votes).toBeUndefined();
  expect(say(approvals, state, 'cleo')).toMatchObject({ code: 'not_allowed' });
  expect(say(approvals, state, 'lea')).toMatchObject({ code: 'not_allowed' });
  say(approvals, state, 'bob');
  say(approvals, state, 'anna');
  expect(state.phase).toBe('ready');
});

describe('a worker that finds that votes do not count', () => {
  const ready = (secret?: string): [Approvals, CallState] => {
    const [approvals, state] = opened();
    say(approvals, state, 'anna');
    say(approvals, state, 'bob', { decisionId: 'of-bob' });
    start(state);
    if (secret !== undefined) state.secret = secret;
    return [approvals, state];
  };

  it('has them struck out by name; the others need not vote again', () => {
    const [approvals, state] = ready('s');
    const settlement = { askAgain: 'bob is gone', struck: ['bob'], secret: 's' };
    settle(approvals, state, { settlement, now: 2 });
    expect(state).toMatchObject({ phase: 'request', note: 'bob is gone', votes: [{ voter: 'anna' }] });
    expect(say(approvals, state, 'bob', { decisionId: 'of-bob' })).toMatchObject({ code: 'stale_args' });
    say(approvals, state, 'cleo');
    expect(state.phase).toBe('ready');
  });

  it('can ask for more by its own file', () => {
    const [approvals, state] = ready('s');
    const settlement = { askAgain: 'three', struck: [], authority: authority({ need: 3 }), secret: 's' };
    settle(approvals, state, { settlement, now: 2 });
    expect(state).toMatchObject({ phase: 'request', votes: [{ voter: 'anna' }, { voter: 'bob' }] });
    say(approvals, state, 'cleo');
    expect(state.phase).toBe('ready');
  });

  it.each([
    ['without its secret', undefined],
    ['with another secret', 'x'],
  ])('is not believed of an unsafe call %s: it is in doubt', (_, secret) => {
    const [approvals, state] = ready('s');
    const settlement = { askAgain: 'again', struck: ['bob'], ...(secret === undefined ? {} : { secret }) };
    settle(approvals, state, { settlement, now: 2 });
    expect(state.phase).toBe('in_doubt');
  });
});

it('wants the same votes to run a call in doubt again, and one of them to say that it happened', () => {
  const [approvals, state] = opened();
  say(approvals, state, 'anna');
  say(approvals, state, 'bob');
  start(state);
  settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 2 });
  const resolve = (approver: string, resolution: string) => {
    const judged = judgeResolution(approvals, { callId: '1.1', resolution, approver }, 1);
    if (judged.kind !== 'take') return judged.kind === 'refuse' ? judged.refused : judged.spent.verdict;
    drawn += 1;
    return takeResolution(approvals, judged, { now: 3, decisionId: `d${drawn}` });
  };
  expect(resolve('lea', 'happened')).toMatchObject({ code: 'not_allowed' });
  expect(resolve('lea', 'did-not')).toMatchObject({ code: 'not_allowed' });
  expect(resolve('anna', 'run-again')).toMatchObject({ accepted: true, needs: { approvals: 1 } });
  expect(state.phase).toBe('in_doubt');
  resolve('cleo', 'run-again');
  expect(start(state)).toMatchObject({
    approver: 'anna, cleo',
    votes: [{ voter: 'anna' }, { voter: 'cleo' }],
  });
});

it('lets more people decide once its time for that has come, once', () => {
  const [approvals, state] = opened({ need: 1, escalate: { afterMs: 1000, to: ['group:leads'] } });
  expect(escalationOf(state)).toBe(1000);
  expect(nextDeadline(approvals)).toBe(1000);
  expect(escalate(approvals, 999)).toBe(false);
  expect(say(approvals, state, 'lea')).toMatchObject({ code: 'not_allowed' });
  expect(escalate(approvals, 1000)).toBe(true);
  expect(escalate(approvals, 1001)).toBe(false);
  expect(nextDeadline(approvals)).toBe(60_000);
  say(approvals, state, 'lea');
  expect(state.phase).toBe('ready');
});

it('expires when its rule says so, if that is sooner', () => {
  const [, state] = opened({ expiresMs: 1000 });
  expect(state.deadline).toBe(1000);
  const [, other] = opened({ expiresMs: 100_000 });
  expect(other.deadline).toBe(60_000);
});

describe('a delegate with a time', () => {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const withDora = (time: object): [Approvals, CallState] => {
    const [approvals, state] = opened({ need: 1 });
    const anna = { ...person('anna', ['finance']), delegates: [{ name: 'dora', ...time }] };
    state.call.authority = {
      ...authority({ need: 1 }),
      people: [anna, ...PEOPLE.slice(1), person('dora', [])],
    };
    return [approvals, state];
  };

  it.each<[string, object, boolean]>([
    ['in it', { from: iso(1), until: iso(2) }, true],
    ['before it', { from: iso(2) }, false],
    ['after it', { until: iso(1) }, false],
  ])('votes only %s', (_case, time, isTaken) => {
    const [approvals, state] = withDora(time);
    expect(say(approvals, state, 'dora').accepted).toBe(isTaken);
    expect(state.phase).toBe(isTaken ? 'ready' : 'request');
  });

  it('resolves a call in doubt only in it', () => {
    const [approvals, state] = withDora({ until: iso(3) });
    say(approvals, state, 'anna');
    start(state);
    settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 2 });
    const message = { callId: '1.1', resolution: 'did-not', approver: 'dora' };
    expect(judgeResolution(approvals, message, 3)).toMatchObject({ refused: { code: 'not_allowed' } });
    expect(judgeResolution(approvals, message, 2).kind).toBe('take');
  });

  it('gives a call up by the time when they said so', () => {
    const [approvals, state] = withDora({ until: iso(3) });
    say(approvals, state, 'anna');
    start(state);
    settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 2 });
    approvals.cancelled = true;
    takeAbandonment(approvals, { approver: 'dora' }, 3);
    sweepAbandoned(approvals, 3);
    expect(state.phase).toBe('in_doubt');
    takeAbandonment(approvals, { approver: 'dora' }, 2);
    sweepAbandoned(approvals, 4);
    expect(state.phase).toBe('done');
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
      const [approvals, state] = opened(rule);
      let amount = 10;
      let seen = new Map<string, string>();
      for (const { approver, decision, stale } of acts) {
        if (state.phase !== 'request') break;
        const seenDigest = stale ? 'a'.repeat(64) : state.seenDigest;
        amount += 1;
        const edit = { decision: 'modified', arguments: { amount } };
        const more = { seenDigest, ...(decision === 'edit' ? edit : { decision }) };
        const verdict = say(approvals, state, approver, more);
        if (!verdict.accepted) continue;
        if (decision === 'edit') {
          reopen(state, { ...validCall({ args: { amount } }), authority: authority(rule) }, 2);
          seen = new Map();
        } else if (decision === 'withdrawn') seen.delete(approver.toLowerCase());
        else seen.set(approver.toLowerCase(), decision);
      }
      const approvers = [...seen].filter(([, word]) => word === 'approved').map(([name]) => name);
      const isFinance = (name: string): boolean => ['anna', 'bob', 'cleo'].includes(name);
      if (state.phase === 'ready') {
        expect(approvers.filter(isFinance).length).toBeGreaterThanOrEqual(rule.need);
        expect(start(state)?.votes?.every((vote) => vote.seenDigest === state.seenDigest)).toBe(true);
      } else expect(() => start(state)).toThrow();
    }),
  );
});

describe('asking again', () => {
  const again = { decision: 'ask-again', reason: 'all left' };
  const renewing = (): CallState => {
    const [approvals, state] = opened({ expiresMs: 1000, escalate: { afterMs: 10, to: ['lea'] } });
    say(approvals, state, 'anna');
    escalate(approvals, 20);
    // Whether dora may is not known here.
    expect(say(approvals, state, 'dora', again)).toMatchObject({ accepted: true, asksAgain: true });
    expect(state).toMatchObject({ phase: 'replanning', votes: [{ voter: 'anna' }] });
    return state;
  };

  it('leaves the rule it was under and its votes behind, and keeps who asked for the turn', () => {
    const state = renewing();
    const today = { ...authority({ name: 'small', need: 1, rosters: [['lea']] }), requesters: ['sam'] };
    reopen(state, { ...validCall(), authority: today }, 500);
    expect(state).toMatchObject({
      ...{ phase: 'request', since: 500 },
      call: { authority: { rule: { name: 'small', need: 1 }, requesters: ['rita', 'sam'] } },
    });
    for (const key of ['votes', 'isEscalated', 'renewal', 'note']) expect(state).not.toHaveProperty(key);
  });

  it('changes nothing but its note where nothing comes of it', () => {
    const state = renewing();
    const result = failureOf(state, { code: 'refused', message: 'dora is not an admin' }, 5);
    const before = structuredClone(state.call);
    reopen(state, { ...validCall(), kind: 'invalid', proposed: {}, result }, 500);
    expect(state).toMatchObject({ phase: 'request', since: 0, deadline: 1000, isEscalated: true });
    expect(state).toMatchObject({ votes: [{ voter: 'anna' }], call: before });
    expect(state.note).toMatch(/^it was not asked again: .*dora is not an admin/);
  });

  it('is for the calls of turns only: a gate asks again by itself', () => {
    const approvals = makeApprovals();
    const call = { ...validCall(), settings: { ...validCall().settings, gate: {} } };
    const state = register(approvals, call, { callKey: 'k:1.1', now: 0 });
    expect(say(approvals, state, 'dora', again)).toMatchObject({ code: 'malformed' });
    expect(state.phase).toBe('request');
  });
});

describe('giving up a call in doubt', () => {
  const doubtful = (): [Approvals, CallState] => {
    const [approvals, state] = opened({ need: 1 });
    say(approvals, state, 'anna');
    start(state);
    settle(approvals, state, { settlement: { inDoubt: { message: 'lost' } }, now: 2 });
    approvals.cancelled = true;
    return [approvals, state];
  };
  const giveUp = (approvals: Approvals, ...approvers: (string | undefined)[]): void => {
    for (const approver of approvers)
      takeAbandonment(approvals, approver === undefined ? {} : { approver }, 3);
    sweepAbandoned(approvals, 3);
  };

  it.each([['lea'], ['mallory'], [undefined]])('is not for %s, whom the rule does not name', (approver) => {
    const [approvals, state] = doubtful();
    giveUp(approvals, approver);
    expect(state.phase).toBe('in_doubt');
    expect(state.note).toMatch(/^not given up: .* is not named by the rule; these may: anna, bob, cleo/);
  });

  it.each([
    ['alone', ['bob']],
    ['after somebody who may not', ['lea', 'bob']],
    ['before somebody who may not', ['bob', 'mallory']],
  ])('is for those whom the rule names, %s', (_, approvers) => {
    const [approvals, state] = doubtful();
    giveUp(approvals, ...approvers);
    expect(state).toMatchObject({ phase: 'done', result: { success: false } });
    expect(state.result?.content).toContain('bob');
  });
});

describe('a vote decides a call only in its own sense', () => {
  /** Anna, Bob and Lea have approved. A worker then strikes out Anna, and the two others are enough. */
  const struck = (): [Approvals, CallState] => {
    const rule = { rosters: [], need: 1, groups: ['finance', 'leads'], denyNeeds: 2 };
    const [approvals, state] = opened(rule);
    const all = authority(rule);
    state.call.authority = {
      ...all,
      people: [...PEOPLE, person('paul', [])],
      rule: { ...all.rule, rosters: [['group:finance', 'group:leads', 'paul']] },
    };
    for (const name of ['paul', 'bob', 'lea']) say(approvals, state, name);
    start(state);
    state.secret = 's';
    const settlement = { askAgain: 'void', struck: ['paul'], secret: 's' };
    settle(approvals, state, { settlement, now: 2 });
    return [approvals, state];
  };

  it('a denial lets nothing run, although the votes that are left are enough', () => {
    const [approvals, state] = struck();
    expect(state).toMatchObject({ phase: 'request', votes: [{ voter: 'bob' }, { voter: 'lea' }] });
    expect(say(approvals, state, 'anna', { decision: 'denied' })).toMatchObject({
      accepted: true,
      decision: 'denied',
      needs: { approvals: 0 },
    });
    expect(state.phase).toBe('request');
    expect(say(approvals, state, 'cleo')).not.toHaveProperty('needs', expect.anything());
    expect(state).toMatchObject({ phase: 'ready', held: { approver: 'bob, lea, cleo' } });
  });

  it('an approval denies nothing, although the denials are enough since the request was escalated', () => {
    const [approvals, state] = opened({ denyNeeds: 2, escalate: { afterMs: 10, to: ['paul'] } });
    state.call.authority = {
      ...authority({ denyNeeds: 2, escalate: { afterMs: 10, to: ['paul'] } }),
      people: [
        { ...person('anna', ['finance']), delegates: [{ name: 'paul' }] },
        ...PEOPLE.slice(1),
        person('paul', []),
      ],
    };
    for (const name of ['anna', 'paul']) say(approvals, state, name, { decision: 'denied' });
    expect(state.phase).toBe('request');
    escalate(approvals, 10);
    expect(say(approvals, state, 'bob')).toHaveProperty('needs');
    expect(state.phase).toBe('request');
    say(approvals, state, 'cleo', { decision: 'denied' });
    expect(state).toMatchObject({ phase: 'done', result: { error: { code: 'denied' } } });
  });
});
