import type { RuleSnapshot, Voter } from '../../src/contract/authority';
import { type Offer, offersOn, type Onlooker } from '../../src/history/offers';
import { describeVoting } from '../../src/history/labels';
import type { CallView, TurnView } from '../../src/history/view';
import { isAtLeast, ROLES } from '../../src/authority/rules/permits';
import type { CallState } from '../../src/lifecycle/state';
import { call, request, turn } from '../cli/support';
import {
  AGE,
  type Calls,
  callsWith,
  type CallShape,
  decideTurn,
  PAY_SCHEMA,
  PLAN,
  validCall,
} from '../support/calls';

const person = (name: string, groups: string[] = []): Voter => ({ name, groups, delegates: [] });
const PEOPLE = [person('anna'), person('bob'), person('rita'), person('lea', ['leads'])];
const RULE: RuleSnapshot = {
  ...{ name: 'r', then: 'ask', rosters: [['anna', 'bob', 'rita']], need: 1, groups: [] },
  ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' },
};

const RULES: Record<string, Partial<RuleSnapshot> | undefined> = {
  'no rule': undefined,
  'one of three': {},
  'two of three': { need: 2 },
  'two denials': { need: 2, denyNeeds: 2 },
  'not who asked': { notRequester: true },
  'signed in': { assurance: 'signed_in' },
  'signed at a terminal': { assurance: 'signed_ssh' },
};

/** How a call gets into a state, and what of a turn belongs to it. */
interface Arranged {
  shape?: CallShape;
  now?: number;
  by?: (calls: Calls) => void;
}

const vote = (calls: Calls, more: object): void => {
  const { seenDigest } = calls.call();
  calls.say('decision', { callId: '1.1', seenDigest, approver: 'anna', decision: 'approved', ...more });
};
const doubt = (calls: Calls): void => {
  vote(calls, {});
  vote(calls, { approver: 'bob' });
  if (calls.call().phase !== 'ready') return;
  calls.start();
  calls.lose('1.1', 2);
};

const STATES: Record<string, Arranged> = {
  'a request': {},
  'a request with hunks': { shape: { plan: PLAN } },
  'a request that expired': { now: 60_000 },
  'a request of a cancelled turn': { by: (calls) => void calls.do({ type: 'cancel' }) },
  'a request that anna approved': { by: (calls) => vote(calls, {}) },
  'a request of which anna approved a hunk': {
    shape: { plan: PLAN },
    by: (calls) => vote(calls, { hunks: ['1'] }),
  },
  'a request that anna denied': { by: (calls) => vote(calls, { decision: 'denied' }) },
  'a question': { shape: { question: true } },
  'a question that expired': { shape: { question: true }, now: 60_000 },
  'a call in doubt': { by: doubt },
  'a call in doubt of a cancelled turn': {
    by: (calls) => {
      doubt(calls);
      calls.do({ type: 'cancel' }, 3);
    },
  },
  'a call in doubt of which anna wants another run': {
    by: (calls) => {
      doubt(calls);
      calls.say('resolution', { callId: '1.1', approver: 'anna', resolution: 'run-again' }, 3);
    },
  },
};

/** The call as the page is shown it. */
function viewed(state: CallState, authority: object | undefined): CallView {
  const { phase, call: prepared, votes, seenDigest } = state;
  const at = 'deadline' in state ? state.deadline : null;
  const deadline = at === null ? null : new Date(at).toISOString();
  const asked = request({
    ...{ deadline, seenDigest, preview: prepared.preview, schema: PAY_SCHEMA },
    ...authority,
  });
  const question = { ...asked, type: 'question_opened' as const, question: AGE };
  return call({
    ...{ phase, request: asked, votes: votes.map((one) => ({ ...one })) },
    ...(phase === 'question' ? { question } : {}),
    ...(phase === 'in_doubt' ? { doubt: { ...asked, type: phase, message: 'lost' } } : {}),
  });
}

/** Whether the turn takes this from somebody. */
function isTaken(calls: Calls, { offer, who, now }: Asked): boolean {
  if (!isAtLeast(who.role, offer === 'ask-again' ? 'admin' : 'approver')) return false;
  const { seenDigest, votes } = calls.call();
  const takes = (type: 'decision' | 'resolution' | 'answer', said: object): boolean => {
    const message = { callId: '1.1', approver: who.user, ...said };
    const asked = { type, message, newId: () => 'd', runId: 'run', isAgain: false };
    return decideTurn(calls.state, asked, now).refused === undefined;
  };
  const decides = (said: object): boolean => takes('decision', { seenDigest, ...said });
  switch (offer) {
    case 'approve': {
      const hunks = votes.find(({ decision }) => decision === 'approved')?.hunks;
      return decides({ decision: 'approved', hunks });
    }
    case 'hunks':
      return decides({ decision: 'approved', hunks: ['2'] });
    case 'deny':
      return decides({ decision: 'denied' });
    case 'edit':
      return decides({ decision: 'modified', arguments: { amount: 5 } });
    case 'withdraw':
      return decides({ decision: 'withdrawn' });
    case 'ask-again':
      return decides({ decision: 'ask-again', reason: 'why' });
    case 'answer':
      return takes('answer', { answer: 'answered', content: { age: 4 } });
    case 'happened':
    case 'did-not':
    case 'run-again':
      return takes('resolution', { resolution: offer });
    default:
      return false;
  }
}

interface Asked {
  offer: Offer;
  who: Onlooker;
  now: number;
}

const OFFERS: readonly Offer[] = [
  ...(['approve', 'deny', 'edit', 'hunks', 'withdraw', 'ask-again'] as const),
  ...(['answer', 'happened', 'did-not', 'run-again'] as const),
];
const USERS = ['anna', 'bob', 'rita', 'lea', 'eve'];

describe.each(Object.keys(STATES))('%s', (name) => {
  test.each(Object.keys(RULES))('under the rule %s, offers what the turn takes', (ruled) => {
    const { shape = {}, now = 10, by } = STATES[name] ?? {};
    const rule = RULES[ruled];
    const authority = rule && {
      authority: {
        ...{ fileDigest: 'f', ruleDigest: 'r', people: PEOPLE, requesters: ['rita'] },
        rule: { ...RULE, ...rule },
      },
    };
    const calls = callsWith({ ...validCall(shape), ...authority });
    by?.(calls);
    const view: TurnView = turn([], { cancelRequested: calls.state.cancelled });
    const one = viewed(calls.call(), authority);
    for (const role of ROLES)
      for (const user of USERS) {
        const who: Onlooker = { user, role, signs: 'signed' };
        const { offers, ownVote } = offersOn(view, one, who, { now });
        for (const offer of OFFERS) {
          const what = `${offer} by ${user}, ${role}`;
          const taken = isTaken(calls, { offer, who, now });
          // The worker, and not the turn, checks signatures.
          const isSignable = ruled !== 'signed at a terminal' || !['approve', 'hunks'].includes(offer);
          // Who voted takes the vote back first, and votes on what no rule is about are never asked for again.
          const isNarrower = ownVote !== undefined || (offer === 'ask-again' && rule === undefined);
          const isOffered = offers.includes(offer);
          if (isNarrower && !isOffered) continue;
          expect([what, isOffered]).toEqual([what, taken && isSignable]);
        }
      }
  });
});

const NONE = { offers: [] };
const LATER = Date.parse('2026-12-26T00:00:00Z');

test('names only people who may act as those who may vote', () => {
  const authority = { fileDigest: 'f', ruleDigest: 'r', people: PEOPLE, requesters: [], rule: RULE };
  const one = call({ request: request({ authority }) });
  expect(describeVoting(one, LATER)).toContain('anna, bob, rita may vote');
  expect(describeVoting(one, LATER, (name) => name !== 'bob')).toContain('anna, rita may vote');
});

describe('says what of the votes on a call is somebody’s own', () => {
  const people = ['bob', 'dave', 'xena', 'yan'].map((name) => ({ name, groups: [], delegates: [] }));
  const DELEGATES = ['xena', 'yan'].map((name) => ({ name, until: '2026-12-25T00:00:00.000Z' }));
  const authority = {
    ...{ fileDigest: '', ruleDigest: '', requesters: ['ann'] },
    rule: {
      ...{ name: 'two', then: 'ask' as const, rosters: [['anna', 'bob']], need: 2, groups: [] },
      ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' as const },
      escalate: { afterMs: 1, to: ['dave'] },
    },
    people: [{ name: 'anna', groups: [], delegates: DELEGATES, mail: 'Anna@example.com' }, ...people],
  };
  const votes = [
    { voter: 'anna', decision: 'approved' as const, at: '2026-12-24T12:00:00.000Z' },
    { voter: 'dave', decision: 'denied' as const, at: '2026-12-24T12:00:00.000Z' },
    { voter: 'xena', decision: 'approved' as const, at: '2026-12-24T12:00:00.000Z' },
    { voter: 'yan', decision: 'approved' as const, at: '2026-12-25T00:00:00.000Z' },
  ];
  const asked = (extra = {}, of = {}) => call({ request: request({ authority, ...of }), votes, ...extra });

  test.each([
    ['a voter', asked(), 'anna', 'approver', { ownVote: 'approved', offers: ['withdraw'] }],
    [
      'a voter by mail',
      asked(),
      'anna@EXAMPLE.com',
      'approver',
      { ownVote: 'approved', offers: ['withdraw'] },
    ],
    ['a voter who only looks by now', asked(), 'anna', 'viewer', NONE],
    [
      'a delegate who voted in their time',
      asked(),
      'xena',
      'approver',
      { ownVote: 'approved', offers: ['withdraw'] },
    ],
    ['a delegate who voted after their time', asked(), 'yan', 'approver', NONE],
    ['who has not voted', asked(), 'bob', 'approver', { offers: ['approve', 'deny', 'grant'] }],
    ['a stranger', asked(), 'eve', 'approver', NONE],
    ['whose vote does not count', asked(), 'dave', 'approver', NONE],
    [
      'who may vote since nobody did',
      asked({ isEscalated: true }),
      'dave',
      'approver',
      { ownVote: 'denied', offers: ['withdraw'] },
    ],
    ['an admin', asked(), 'eve', 'admin', { offers: ['ask-again'] }],
    [
      'an admin who voted',
      asked(),
      'anna',
      'admin',
      { ownVote: 'approved', offers: ['withdraw', 'ask-again'] },
    ],
    ['an admin, of a gate', asked({}, { byGate: true }), 'eve', 'admin', NONE],
    ['an admin, of a workflow of its own', asked({}, { unowned: true }), 'eve', 'admin', NONE],
    ['a call that is decided', asked({ phase: 'ready' }), 'anna', 'admin', NONE],
    ['a call without a rule', call({ votes }), 'anna', 'admin', { offers: ['approve', 'deny', 'grant'] }],
  ] as const)('%s', (_what, one, user, role, own) => {
    const { offers, ownVote } = offersOn(turn(), one, { user, role, signs: 'claimed' }, { now: LATER });
    expect({ offers, ownVote }).toEqual({ ownVote: undefined, ...own });
  });
});
