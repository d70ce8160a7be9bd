import {
  type SignedCallFacts,
  readStatement,
  type Statement,
  statementOf,
  statementText,
} from '../../../src/authority/signatures/statement';
import { FACTS, VOTE } from './signed';

type SignableVote = Parameters<typeof statementOf>[1];

const made = (facts: Partial<SignedCallFacts> = {}, vote: Partial<SignableVote> = {}): Statement => {
  const statement = statementOf({ ...FACTS, ...facts }, { ...VOTE, ...vote });
  if (statement === undefined) throw new Error('not a statement');
  return statement;
};

it('has exactly the fields that are signed, in canonical JSON', () => {
  const text = statementText(made());
  expect(Object.keys(JSON.parse(text))).toEqual([
    ...['agent', 'approver', 'at', 'callKey', 'decision', 'decisionId', 'effectiveDigest', 'generation'],
    ...['installation', 'namespace', 'notAfter', 'reason', 'requesters', 'ruleDigest', 'runId'],
    ...['seenDigest', 'tool', 'toolDigest', 'v', 'workflowId'],
  ]);
  expect(text).not.toMatch(/[\n\t]|": /);
  expect(readStatement(text)).toEqual(made());
});

it('names requesters in order, each once, and nobody where nobody is known', () => {
  expect(made({ requesters: ['carl', 'bob', 'carl'] }).requesters).toEqual(['bob', 'carl']);
  expect(made({ requesters: undefined }).requesters).toEqual([]);
  expect(made().reason).toBe('');
});

it('names hunks in order, each once, and only where some were chosen', () => {
  expect(made({}, { hunks: ['3', '1', '3'] }).hunks).toEqual(['1', '3']);
  expect(readStatement(statementText(made({}, { hunks: ['3', '1'] })))).toEqual(
    made({}, { hunks: ['1', '3'] }),
  );
  expect(made()).not.toHaveProperty('hunks', expect.anything());
});

it('says another text for each spelling of the same letters', () => {
  const [composed, apart] = ['caf\u00e9', 'cafe\u0301'].map((reason) => made({}, { reason }));
  expect(statementText(composed ?? made())).not.toBe(statementText(apart ?? made()));
});

it.each<[string, Partial<SignedCallFacts>, Partial<SignableVote>]>([
  ['a digest that is none', { seenDigest: 'abc' }, {}],
  ['a digest in capitals', { toolDigest: 'A'.repeat(64) }, {}],
  ['no namespace', { namespace: '' }, {}],
  ['a generation below zero', { generation: -1 }, {}],
  ['a generation between two', { generation: 0.5 }, {}],
  ['an installation that is none', { installation: 'here' }, {}],
  ['half a character', {}, { reason: 'a\ud800' }],
  ['no hunk at all', {}, { hunks: [] }],
  ['a hunk that reads as two', {}, { hunks: ['1,2'] }],
  ['a reason of 5,000 characters', {}, { reason: 'x'.repeat(5000) }],
  ['a time without milliseconds', {}, { at: '2026-11-24T12:00:00Z' }],
  ['a time in another zone', {}, { at: '2026-11-24T12:00:00.000+01:00' }],
  ['a time that is none', {}, { notAfter: 'tomorrow' }],
])('is not made with %s', (_case, facts, vote) => {
  expect(statementOf({ ...FACTS, ...facts }, { ...VOTE, ...vote })).toBeUndefined();
});

const changed = (change: object): string => JSON.stringify({ ...made(), ...change });

it.each<[string, () => string]>([
  ['text that is not JSON', () => '{'],
  ['a field too many', () => changed({ extra: 1 })],
  ['a field too few', () => changed({ tool: undefined })],
  ['another version', () => changed({ v: 2 })],
  ['fields in another order', () => changed({})],
  ['a space', () => `${statementText(made())} `],
  ['a key twice', () => statementText(made()).replace('{', '{"tool":"look",')],
  ['a key of the prototype', () => statementText(made()).replace('{', '{"__proto__":{},')],
  ['requesters out of order', () => statementText(made()).replace('["bob","carl"]', '["carl","bob"]')],
  ['a requester twice', () => statementText(made()).replace('["bob","carl"]', '["bob","bob"]')],
  ['deep nesting', () => '['.repeat(1_000_000)],
  ['more than 2 MiB', () => ' '.repeat(3_000_000)],
])('is not read from %s', (_case, text) => {
  expect(readStatement(text())).toBeUndefined();
});

it('is not written with a field too many', () => {
  const wider = { ...made(), extra: 1 };
  expect(() => statementText(wider)).toThrow('extra');
});
