import fc from 'fast-check';
import { mayBeBy, someNames, voterIn, votingOf } from '../../../src/authority/votes/voters';
import { countVotesUnder } from '../../../src/authority/votes/count-votes';
import { rule as voteRule } from './support';
import {
  type RuleSnapshot,
  type Voter,
  type Authority,
  readAuthority,
  type Vote,
} from '../../../src/contract/authority';
import {
  authorityNow,
  joinedAuthority,
  stricterAuthority,
} from '../../../src/authority/votes/authority-in-force';
import { afterWords, requestersOf, withRequesters } from '../../../src/authority/votes/requesters';

const person = (name: string, groups: string[] = [], mail?: string): Voter => ({
  ...{ name, groups, delegates: [] },
  ...(mail === undefined ? {} : { mail }),
});
const NOW = Date.parse('2026-12-24T12:00:00.000Z');
const PEOPLE = [
  person('anna', ['finance'], 'Anna@Example.com'),
  person('bob', ['finance']),
  person('lea', ['leads']),
];
const rule = (changes: Partial<RuleSnapshot> = {}): RuleSnapshot => ({
  name: 'large',
  then: 'ask',
  ...voteRule(),
  ...changes,
});
const authority = (changes: Partial<RuleSnapshot> = {}, more: Partial<Authority> = {}): Authority => ({
  fileDigest: 'f',
  ruleDigest: 'r',
  rule: rule(changes),
  people: PEOPLE,
  requesters: ['rita'],
  ...more,
});

it.each<[string, Parameters<typeof requestersOf>[0], string[]]>([
  ['who started it, and those whose words it read', { requester: 'rita', others: ['bob'] }, ['rita', 'bob']],
  ['nobody, if nobody knows who started it', { others: ['bob'] }, []],
])('asked for a turn: %s', (_, origin, names) => {
  expect(requestersOf(origin)).toEqual(names);
});

it.each<[string, Parameters<typeof withRequesters>[0], string[], object]>([
  ['one more', { requester: 'rita' }, ['bob'], { requester: 'rita', others: ['bob'] }],
  [
    'no one twice',
    { requester: 'rita', others: ['bob'] },
    ['bob', 'rita'],
    { requester: 'rita', others: ['bob'] },
  ],
  [
    'one more than the sender who was among the others',
    { requester: 'bob', others: ['bob'] },
    ['rita'],
    { requester: 'bob', others: ['rita'] },
  ],
  ['nobody', undefined, [], {}],
  ['a text that is no name, as somebody', {}, ['x'.repeat(201)], { others: ['somebody'] }],
  ['too many, as somebody', {}, Array.from({ length: 1001 }, (__, n) => `p${n}`), { others: ['somebody'] }],
])('adds %s to those who asked', (_, origin, names, expected) => {
  expect(withRequesters(origin, names)).toEqual(expected);
});

it.each<[string, Partial<RuleSnapshot>, RegExp | undefined]>([
  ['a rule that does not mind', {}, undefined],
  ['enough others', { notRequester: true }, /others to approve\.$/],
  ['too few others', { notRequester: true, need: 2 }, /Too few others could approve it\.$/],
])('says before words are sent: %s', (_, changes, text) => {
  const said = afterWords(authority(changes), { approver: 'BOB', now: NOW });
  if (text === undefined) expect(said).toBeUndefined();
  else expect(said).toMatch(text);
});

it('lets nobody decide under notRequester if somebody without a name asked', () => {
  const asked = authority({ notRequester: true }, { requesters: ['rita', 'somebody'] });
  expect(votingOf(asked, 'bob', NOW)).toMatchObject({ ok: false, why: 'requester_unknown' });
});

describe('whether a message may have made a decision', () => {
  const vote = (voter: string): Vote => ({ voter, decision: 'approved', decisionId: voter, at: '' });
  const VOTED = { approver: 'bob, anna', votes: [vote('bob'), vote('anna')] };

  it.each<[string, Parameters<typeof mayBeBy>[0], string | undefined, boolean]>([
    ['of the last voter', VOTED, 'anna', true],
    ['of the last voter, in capitals', VOTED, 'Anna', true],
    ['of the last voter, by mail address', VOTED, 'anna@example.com', true],
    ['of an earlier voter', VOTED, 'bob', false],
    ['of all voters in one name', VOTED, 'bob, anna', false],
    ['of nobody, where people voted', VOTED, undefined, false],
    ['of the approver', { approver: 'Zoe' }, 'zoe', true],
    ['of another person', { approver: 'Zoe' }, 'anna', false],
    ['of nobody, as the decision', { approver: 'somebody' }, undefined, true],
  ])('a message %s', (_, decision, approver, expected) => {
    expect(mayBeBy(decision, authority(), approver)).toBe(expected);
  });
});

describe('whom a name means', () => {
  it.each([
    ['a name', 'anna', 'anna'],
    ['a name in capitals', 'ANNA', 'anna'],
    ['a mail address, whatever its case', 'anna@EXAMPLE.com', 'anna'],
    ['somebody else', 'mallory', 'mallory'],
    ['a name with a blank', 'anna ', 'anna '],
  ])('%s', (_, given, expected) => {
    expect(voterIn(authority(), given)).toBe(expected);
  });

  it('takes any name where the people are too many to list', () => {
    const { people: _, ...listless } = authority({ rosters: [] });
    expect(votingOf(listless, 'Zoe', NOW)).toEqual({ ok: true, voter: 'zoe' });
    expect(
      countVotesUnder(
        listless,
        [{ voter: 'zoe', decision: 'approved', at: '2026-12-24T12:00:00.000Z' }],
        NOW,
      ),
    ).toMatchObject({
      state: 'approved',
      isStuck: false,
    });
  });
});

describe('escalation', () => {
  const late = authority({
    rosters: [['anna'], ['group:finance']],
    escalate: { afterMs: 1, to: ['group:leads'] },
  });

  it('lets those vote whom the rule names for it, beside the others', () => {
    expect(votingOf(late, 'lea', NOW)).toEqual({ ok: false, why: 'not_named' });
    expect(votingOf({ ...late, escalated: true as const }, 'lea', NOW)).toEqual({ ok: true, voter: 'lea' });
    expect(votingOf({ ...late, escalated: true as const }, 'anna', NOW)).toEqual({ ok: true, voter: 'anna' });
    expect(votingOf({ ...late, escalated: true as const }, 'bob', NOW)).toEqual({
      ok: false,
      why: 'not_named',
    });
  });

  it.each([
    ['escalated', late, true, { ...late, escalated: true as const }],
    ['not escalated', late, undefined, late],
    ['under no rule', undefined, true, undefined],
  ])('says who decides a call that is %s', (_case, frozen, isEscalated, now) => {
    expect(authorityNow(frozen, isEscalated)).toEqual(now);
  });

  it('changes nothing under a rule that names nobody for it', () => {
    expect(votingOf({ ...authority(), escalated: true as const }, 'lea', NOW)).toEqual({
      ok: false,
      why: 'not_named',
    });
  });
});

describe('an authority as strict as two', () => {
  it('keeps what is stricter on each point, and who asked before', () => {
    const joined = stricterAuthority(
      authority({ need: 2, assurance: 'signed' }, { requesters: ['anna'] }),
      authority({ notRequester: true, rosters: [['bob', 'anna']] }, { fileDigest: 'g' }),
    );
    expect(joined).toMatchObject({
      fileDigest: 'g',
      requesters: ['anna', 'rita'],
      rule: { need: 2, assurance: 'signed', notRequester: true },
    });
    expect(votingOf(joined, 'anna', NOW)).toEqual({ ok: false, why: 'requester' });
    expect(votingOf(joined, 'bob', NOW)).toEqual({ ok: true, voter: 'bob' });
  });

  it.each<[string, Authority | undefined, Authority | undefined, string | undefined]>([
    ['nobody ruled, and nobody does', undefined, undefined, undefined],
    ['only the rule before', authority({ name: 'old' }), undefined, 'old'],
    ['only the rule now', undefined, authority({ name: 'new' }), 'new'],
    ['both', authority({ name: 'old' }), authority({ name: 'new' }), 'new'],
  ])('%s', (_, before, now, name) => {
    const joined = joinedAuthority(
      before === undefined ? {} : { authority: before },
      now === undefined ? {} : { authority: now },
    );
    expect(joined?.rule.name).toBe(name);
  });
});

describe('an authority that anybody may have written', () => {
  it('is read as it is', () => {
    expect(readAuthority(authority())).toEqual(authority());
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'anna'],
    ['no rule', { ...authority(), rule: undefined }],
    ['an action that there is not', authority({ then: 'allow' as 'run' })],
    ['a number of voters below one', authority({ need: 0 })],
    ['half a voter', authority({ need: 1.5 })],
    ['an assurance that there is not', authority({ assurance: 'sworn' as 'signed' })],
    ['a roster that is a text', { ...authority(), rule: { ...rule(), rosters: 'anna' } }],
    ['too many people', authority({}, { people: Array.from({ length: 1001 }, (_, n) => person(`p${n}`)) })],
    ['escalated by another word', { ...authority(), escalated: 'yes' }],
  ])('%s is not one', (_, value) => {
    expect(readAuthority(value)).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        readAuthority(value);
        readAuthority({ ...authority(), rule: value });
      }),
    );
  });
});

it('names ten people, and says how many more there are', () => {
  const names = Array.from({ length: 12 }, (_, n) => `p${n}`);
  expect(someNames(names.slice(0, 2))).toBe('p0, p1');
  expect(someNames(names)).toMatch(/p9 and 2 more$/);
});
