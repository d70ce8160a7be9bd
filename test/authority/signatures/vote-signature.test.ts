import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Approvers, parseApprovers } from '../../../src/authority/rules/approvers-file';
import {
  assuranceOf,
  VOTE_FAULTS,
  type VoteJudgement,
} from '../../../src/authority/signatures/vote-signature';
import { TIMES } from '../../../src/contract/limits';
import { openInboxKey } from '../../../src/authority/signatures/inbox-key';
import { statementText } from '../../../src/authority/signatures/statement';
import { type Changes, newSigner } from '../../support/ssh';
import { AT, FACTS, type Signed, statementWith, VOTE } from './signed';
import { runs } from '../../support/properties';

type InboxKey = Awaited<ReturnType<typeof openInboxKey>>;

const [anna, bob, removed, expiring] = [1, 2, 3, 4].map(() => newSigner('ssh-ed25519'));
const sk = newSigner('sk-ssh-ed25519@openssh.com');
if (anna === undefined || bob === undefined || removed === undefined || expiring === undefined)
  throw new Error();
const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
let inbox: InboxKey;
let approvers: Approvers;
beforeAll(async () => {
  inbox = await openInboxKey(join(folder, 'inbox.key'));
  const annas = [anna.line, sk.line, `valid-before="20261124110000Z" ${expiring.line}`];
  approvers = parseApprovers(
    `installation: '${FACTS.installation}'
inboxKeys: ${JSON.stringify([inbox.line])}
people:
  anna: { keys: ${JSON.stringify(annas)}, mail: anna@example.com }
  bob: { keys: ${JSON.stringify([bob.line])} }
rules: [{ name: default, then: by_safety }]
`,
    'approvers.yaml',
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Case extends Signed {
  signer?: { sign(message: Buffer, changes?: Changes): string };
  changes?: Changes;
  /** What the vote says, in place of what was signed. */
  vote?: object;
  now?: number;
  isSilent?: boolean;
}

const voteOf = (one: Case): Record<string, unknown> => {
  const { signer = anna, changes = {}, isSilent = false } = one;
  const made = statementWith(one);
  const text = statementText(made);
  const { decisionId, decision, reason, approver, at, notAfter, seenDigest } = made;
  const armored = signer.sign(Buffer.from(text), changes);
  return {
    ...{ decisionId, decision, reason, approver, at, notAfter, seenDigest },
    signature: { kind: 'ssh', armored, ...(isSilent ? {} : { statement: text }) },
    ...one.vote,
  };
};

const judged = (vote: unknown, now = AT + 60_000): VoteJudgement =>
  assuranceOf(vote, { facts: FACTS, approvers, now });
const judgedCase = (one: Case): VoteJudgement => judged(voteOf(one), one.now);

const byInbox = (one: Case = {}): Record<string, unknown> => {
  const made = statementWith(one);
  return voteOf({
    ...one,
    vote: {
      signature: { kind: 'inbox', armored: inbox.sign(made), statement: statementText(made) },
      ...one.vote,
    },
  });
};

it('tells apart what is claimed, signed in and signed', () => {
  expect(judged({ decision: 'approved', approver: 'whoever', at: VOTE.at })).toEqual({
    ok: true,
    assurance: 'claimed',
  });
  expect(judged(byInbox())).toMatchObject({
    ok: true,
    assurance: 'signed_in',
    voter: 'anna',
    isHardware: false,
  });
  expect(judgedCase({})).toMatchObject({
    ok: true,
    assurance: 'signed_ssh',
    voter: 'anna',
    isHardware: false,
  });
  expect(judgedCase({ signer: sk })).toMatchObject({ ok: true, assurance: 'signed_ssh', isHardware: true });
});

it.each<[string, Case]>([
  ['without the text that was signed', { isSilent: true }],
  ['with a suggestion', { words: { suggestion: 'Pay 5' }, vote: { suggestion: 'Pay 5' } }],
  ['without a reason', { words: { reason: '' }, vote: { reason: undefined } }],
  ['in the name of a mail address', { words: { approver: 'Anna@example.com' } }],
  ['with other fields', { vote: { channel: 'cli', other: 'x' } }],
  ['a denial', { words: { decision: 'denied' } }],
  ['run again', { words: { decision: 'run-again' } }],
  ['at the last moment', { now: AT + 3_600_000 + TIMES.clockSkew }],
  ['by a clock that is 10 minutes ahead', { now: AT - TIMES.clockSkew }],
])('takes a signed vote %s', (_case, one) => {
  expect(judgedCase(one)).toMatchObject({ ok: true, assurance: 'signed_ssh', voter: 'anna' });
});

const digest = 'f'.repeat(64);

describe('a signature', () => {
  it.each<[string, keyof typeof VOTE_FAULTS, Case]>([
    ['of another installation', 'wrong_installation', { facts: { installation: 'cd'.repeat(16) } }],
    ['of another namespace', 'wrong_turn', { facts: { namespace: 'other' } }],
    ['of another turn', 'wrong_turn', { facts: { workflowId: 'turn-2' } }],
    ['of another run of its turn', 'wrong_run', { facts: { runId: 'other' } }],
    ['under another id', 'vote_changed', { vote: { decisionId: 'd-2' } }],
    ['of another call', 'wrong_call', { facts: { callKey: 'reply-1:1.2', seenDigest: digest } }],
    ['of another agent', 'wrong_call', { facts: { agent: 'other' } }],
    ['of another tool', 'wrong_call', { facts: { tool: 'look' } }],
    ['of the call before it was run again', 'wrong_generation', { facts: { generation: 1 } }],
    ['of an older tool', 'tool_changed', { facts: { toolDigest: digest } }],
    ['over another preview', 'wrong_arguments', { facts: { seenDigest: digest } }],
    ['over other arguments', 'wrong_arguments', { facts: { effectiveDigest: digest } }],
    ['under another rule', 'rule_changed', { facts: { ruleDigest: digest } }],
    ['without a requester', 'wrong_requesters', { facts: { requesters: ['bob'] } }],
    [
      'whose decision was turned round',
      'vote_changed',
      { words: { decision: 'denied' }, vote: { decision: 'approved' } },
    ],
    ['whose reason was changed', 'vote_changed', { vote: { reason: 'other' } }],
    [
      'whose reason is spelt with other characters',
      'vote_changed',
      { words: { reason: 'caf\u00e9' }, vote: { reason: 'cafe\u0301' } },
    ],
    ['whose suggestion was changed', 'vote_changed', { vote: { suggestion: 'other' } }],
    ['whose suggestion was left out', 'vote_changed', { words: { suggestion: 'Pay 5' } }],
    ['whose end was moved', 'vote_changed', { vote: { notAfter: new Date(AT + 7_200_000).toISOString() } }],
    ['that was dated anew', 'vote_changed', { vote: { at: new Date(AT + 1000).toISOString() } }],
    ['in the name of somebody else', 'other_persons_key', { vote: { approver: 'bob' } }],
    ['of somebody else', 'other_persons_key', { signer: bob }],
    ['of somebody who is not in the file', 'unknown_person', { vote: { approver: 'eve' } }],
    ['by a key that was removed', 'key_removed', { signer: removed }],
    ['by a key that has expired', 'key_expired', { signer: expiring }],
    [
      'by a key that has expired, with an older date',
      'key_expired',
      { signer: expiring, words: { at: new Date(AT - 7_200_000).toISOString() } },
    ],
    ['for Git', 'wrong_namespace', { changes: { namespace: 'git' } }],
    ['that nobody touched', 'not_touched', { signer: sk, changes: { flags: 0 } }],
    [
      'over a statement with a field too many',
      'does_not_match',
      { isSilent: true, signer: { sign: (text) => anna.sign(`${text.toString().slice(0, -1)},"w":1}`) } },
    ],
    ['that ended', 'expired', { now: AT + 3_600_000 + TIMES.clockSkew + 1 }],
    ['from the future', 'in_future', { now: AT - TIMES.clockSkew - 1 }],
    ['that ends before it begins', 'malformed', { words: { notAfter: new Date(AT - 1).toISOString() } }],
    ['without an end', 'malformed', { vote: { notAfter: undefined } }],
    ['without what was seen', 'wrong_arguments', { vote: { seenDigest: undefined }, isSilent: true }],
    ['with a time that is none', 'malformed', { vote: { at: 'now' } }],
    ['with another decision than there is', 'malformed', { vote: { decision: 'maybe' } }],
    ['of another kind', 'malformed', { vote: { signature: { kind: 'passkey', armored: '' } } }],
    ['of no kind', 'malformed', { vote: { signature: {} } }],
    ['that is empty', 'malformed', { vote: { signature: { kind: 'ssh', armored: '' } } }],
    ['that is huge', 'too_large', { vote: { signature: { kind: 'ssh', armored: 'x'.repeat(1_000_000) } } }],
  ])('%s is bad, and not taken for a claim', (_case, why, one) => {
    expect(judgedCase(one)).toEqual({ ok: false, why });
    expect(VOTE_FAULTS[why]).toEqual(expect.any(String));
  });

  it('over something else says so without the text that was signed, too', () => {
    expect(judgedCase({ facts: { callKey: 'other' }, isSilent: true })).toEqual({
      ok: false,
      why: 'does_not_match',
    });
    expect(judgedCase({ facts: { seenDigest: digest }, isSilent: true })).toEqual({
      ok: false,
      why: 'wrong_arguments',
    });
  });

  it('is not helped by a text that matches', () => {
    const lying = { ...voteOf({ facts: { callKey: 'other' } }) };
    const signature = { ...Object(lying['signature']), statement: statementText(statementWith({})) };
    expect(judged({ ...lying, signature })).toEqual({ ok: false, why: 'does_not_match' });
  });
});

it('keeps the keys of people and of web inboxes apart', () => {
  const own = voteOf({ changes: { namespace: 'countersign-inbox' } });
  expect(judged({ ...own, signature: { ...Object(own['signature']), kind: 'inbox' } })).toEqual({
    ok: false,
    why: 'key_removed',
  });
  const inboxes = byInbox();
  expect(judged({ ...inboxes, signature: { ...Object(inboxes['signature']), kind: 'ssh' } })).toEqual({
    ok: false,
    why: 'wrong_namespace',
  });
  expect(judged(byInbox({ vote: { approver: 'bob' } }))).toEqual({ ok: false, why: 'vote_changed' });
  expect(judged(byInbox({ words: { approver: 'eve' } }))).toEqual({ ok: false, why: 'unknown_person' });
});

it('never throws, and takes nothing made up as signed', () => {
  const good = voteOf({ words: { reason: 'checked' } });
  const value = fc.oneof(fc.anything(), fc.string({ unit: 'binary' }), fc.constant(undefined));
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(good)), value, (field, made) => {
      const verdict = judged({ ...good, [field]: made });
      const isSame = made === good[field];
      expect(isSame || !verdict.ok || verdict.assurance === 'claimed').toBe(true);
      if (field !== 'signature') expect(isSame || !verdict.ok).toBe(true);
    }),
    { numRuns: runs(1000) },
  );
  fc.assert(fc.property(fc.anything(), (vote) => void judged(vote)));
});
