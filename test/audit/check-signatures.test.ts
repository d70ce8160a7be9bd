import { type Approvers, parseApprovers } from '../../src/authority/rules/approvers-file';
import { type Statement, statementOf, statementText } from '../../src/authority/signatures/statement';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/signatures/facts-to-sign';
import type { Decision } from '../../src/contract/decision';
import { readLine } from '../../src/audit/read';
import { redactLine } from '../../src/audit/redact';
import { createRecorder } from '../../src/audit/records';
import { createSignatureChecker, type SignatureReport } from '../../src/audit/check-signatures';
import type { SealedField } from '../../src/audit/format';
import { viewOf } from '../../src/history/view';
import { newPasskey, SITE, type TestPasskey } from '../support/passkey';
import { newSigner } from '../support/ssh';
import type { Effect } from '../../src/contract/tool';
import { FAILURES } from '../../src/contract/names';
import type { Roster, RosterLine } from '../../src/contract/roster';
import { accepted, ask, item, result, Script } from '../history/script';
import { fileOf } from './sample';

type SignatureState = keyof SignatureReport['counts'];
const INSTALLATION = 'ab'.repeat(16);
const [anna, bob, stranger] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];
const [annas, removed] = [newPasskey(), newPasskey()];

const approversWith = (keys: readonly string[], more = '', passkeys = [annas.line]): Approvers =>
  parseApprovers(
    `installation: '${INSTALLATION}'
rpId: ${SITE.rpId}
origins: ['${SITE.origin}']
people:
  anna: { keys: ${JSON.stringify(keys)}, passkeys: ${JSON.stringify(passkeys)}, mail: anna@example.com }
  bob: { keys: ${JSON.stringify([bob.line])} }
rules: [{ name: default, then: ask }]
${more}`,
    'approvers.yaml',
  );
const approvers = approversWith([anna.line]);

const authority = approvers.authorityBy(
  approvers.rulingOn({ agent: 'a', tool: 'pay', safety: 'dangerous', effect: 'unsafe', args: {} }),
  ['rita'],
);

/** Where the history of a turn differs. */
interface Turn {
  args?: object;
  callId?: string;
  effect?: Effect;
}

const waiting = ({ args = { n: 1 }, callId = '1.1', effect = 'unsafe' }: Turn = {}): Script => {
  const script = new Script();
  script.add({
    ...{ kind: 'started', turn: 't', runId: 'r', taskQueue: 'q', input: { agent: 'a', prompt: 'go' } },
  });
  const call = ask(callId, { authority, arguments: { ...args }, toolDigest: '1'.repeat(64) }, { effect });
  return script
    .task()
    .think(1, [call])
    .open([item(callId)]);
};

/** A signature on the call of a turn, as the terminal makes one. */
interface Signing {
  turn?: Turn;
  workflowId?: string;
  run?: string;
  says?: Partial<Pick<Statement, 'decision' | 'approver' | 'reason'>>;
  by?: { sign(message: Buffer): string };
  /** Signs in place of an SSH key. */
  passkey?: TestPasskey;
  /** After it was signed: milliseconds. */
  early?: number;
}

const signed = (signing: Signing, script: Script): Pick<Decision, 'signature'> => {
  const { turn, workflowId = 't', run = 'r', says, by = anna, passkey, early = 0 } = signing;
  const view = viewOf(waiting(turn).fold());
  const [call] = view.calls;
  const at = { installation: INSTALLATION, namespace: 'default', workflowId };
  const facts = call && factsToSign(view, { ...call, runId: run }, at);
  if (facts === undefined) throw new Error('nothing to sign');
  const times = timesToSign(call ?? {}, Date.parse(script.fold().at(-1)?.at ?? '') + early);
  const decisionId = `d-${turn?.callId ?? '1.1'}-${says?.decision ?? 'approved'}`;
  const said = { decisionId, decision: 'approved', approver: 'anna', ...times, ...says } as const;
  const statement = statementOf(facts, said);
  if (statement === undefined) throw new Error('not a statement');
  const text = statementText(statement);
  if (passkey !== undefined)
    return { signature: signatureOf('passkey', passkey.sign(text), { text, ...times }) };
  return { signature: signatureOf('ssh', by.sign(Buffer.from(text)), { text, ...times }) };
};

interface Case extends Signing {
  /** The turn that the decision came to. */
  into?: Turn;
  /** What the decision says, in place of what was signed. */
  decision?: Partial<Decision>;
  isUnsigned?: boolean;
  file?: Approvers;
  /** In place of `file`: today's first. */
  files?: Approvers[];
  /** What the worker said of the key, once the call ran. Absent: it did not run. */
  ran?: Ran;
  without?: SealedField[];
}

const REPEATABLE = { effect: 'idempotent' } as const;

/** A line of a worker, and where it differs from that of anna's key. */
interface Ran extends Partial<RosterLine> {
  installation?: string;
  fileDigest?: string;
  /** The call failed, and may run again. */
  isFailed?: boolean;
  isLost?: boolean;
}

const rosterOf = ({ installation = INSTALLATION, fileDigest = 'f'.repeat(64), ...line }: Ran): Roster => {
  const { isFailed: _, isLost: __, ...rest } = line;
  const made = {
    decisionId: 'd-1.1-approved',
    person: 'anna',
    groups: ['finance'],
    line: anna.line,
    ...rest,
  };
  return { installation, fileDigest, lines: [made] };
};

/** The call runs by the decision, and its worker says by which key. */
const runBy = (script: Script, ran: Ran): void => {
  const { isFailed, isLost } = ran;
  const roster = rosterOf(ran);
  const started = script.call(ask('1.1', { authority }));
  if (isFailed === true) {
    const details = [result('1.1', { success: false, error: { code: 'tool', message: 'no' } }), roster];
    script.fails(started, { type: FAILURES.retry, details });
  } else if (isLost === true) script.done(started, { inDoubt: { message: 'lost' }, roster });
  else script.done(started, { result: result('1.1'), contentDigest: 'x', roster });
  script.task();
};

const reportOn = async (one: Case): Promise<SignatureReport> => {
  const script = waiting(one.into);
  const [call] = viewOf(script.fold()).calls;
  const said = {
    ...{ callId: call?.callId ?? '', decision: 'approved', approver: 'anna' },
    ...{ seenDigest: call?.request?.seenDigest },
    ...(one.isUnsigned === true ? {} : signed(one, script)),
    ...one.decision,
  } as const;
  script.update('decide', said, accepted(said.callId, said.decision, { approver: said.approver }));
  if (one.ran !== undefined) runBy(script, one.ran);
  const recorder = createRecorder('t');
  const checker = await createSignatureChecker(one.files ?? [one.file ?? approvers]);
  for (const text of fileOf(script.fold().flatMap((event) => recorder.push(event)))) {
    const whole = readLine(text);
    if (typeof whole === 'string') throw new Error(whole);
    const line = readLine(redactLine(text, whole, one.without ?? []));
    if (typeof line !== 'string') checker.push(line);
  }
  return checker.finish();
};

const OTHERS = {
  ...{ verified: 0, carried: 0, removed: 0, revoked: 0 },
  ...{ none: 0, bad: 0, unknown_key: 0, taken_out: 0 },
};

it.each<[what: string, one: Case, is: [state: SignatureState, why?: RegExp]]>([
  ['a signature by who decides', {}, ['verified']],
  ['one by their passkey', { passkey: annas }, ['verified']],
  ['one by a passkey that is not in the file', { passkey: removed }, ['unknown_key', /no longer/]],
  [
    'one by their passkey on another call',
    { passkey: annas, turn: { callId: '1.2' } },
    ['bad', /another call/],
  ],
  ['one with a reason', { says: { reason: 'fine' }, decision: { reason: 'fine' } }, ['verified']],
  ['one by a mail address', { decision: { approver: 'ANNA@example.com' } }, ['verified']],
  ['a denial', { says: { decision: 'denied' }, decision: { decision: 'denied' } }, ['verified']],
  ['one without what was signed in words', { without: ['statement'] }, ['verified']],
  ['no signature', { isUnsigned: true }, ['none']],
  ['other arguments', { turn: { args: { n: 2 } } }, ['bad', /other arguments/]],
  ['another decision', { says: { decision: 'denied' } }, ['bad', /says something else/]],
  ['another reason', { decision: { reason: 'other' } }, ['bad', /says something else/]],
  ['another call', { turn: { callId: '1.2' } }, ['bad', /another call/]],
  ['the signature of another turn', { workflowId: 'other' }, ['bad', /another turn/]],
  ['that of another run of this id', { run: 'other' }, ['bad', /another run/]],
  ['what was changed, without words', { run: 'other', without: ['statement'] }, ['bad', /not a signature/]],
  ["somebody else's key", { by: bob }, ['bad', /somebody else's key/]],
  ['one from the future', { early: 3_600_000 }, ['bad', /in the future/]],
  [
    'something that is no signature',
    { decision: { signature: { kind: 'ssh', armored: 'x', at: '', notAfter: '' } } },
    ['bad', /not in its form/],
  ],
  ['a key that nobody has', { by: stranger }, ['unknown_key', /is not, or no longer/]],
  ['a key that was taken out', { file: approversWith([stranger.line]) }, ['unknown_key', /no longer/]],
  [
    'an approver whom the file does not name',
    { says: { approver: 'eve' }, decision: { approver: 'eve' } },
    ['unknown_key', /is not in the approvers file/],
  ],
  ['a name that was taken out', { without: ['approver', 'identity'] }, ['taken_out', /taken out: approver/]],
  ['a signature that was taken out', { without: ['signature'] }, ['taken_out', /taken out: signature/]],
])('says of %s what it is', async (_what, one, [state, why]) => {
  const { counts, verified, unproven } = await reportOn(one);
  expect(counts).toEqual({ ...OTHERS, [state]: 1 });
  expect(verified).toEqual(state === 'verified' ? { anna: 1 } : {});
  const found = { turn: 't', call: '1.1', state, why: why && expect.stringMatching(why) };
  expect(unproven).toMatchObject(why === undefined ? [] : [found]);
});

const today = approversWith([anna.line]);
const changed = approversWith([stranger.line]);
const without = approversWith([], '', []);
const revokedSince = (since: string, line = anna.line): Approvers =>
  approversWith([anna.line], `revoked: [{ key: '${line}', since: '${since}' }]\n`);
const passkeyLine = { line: annas.line, site: { rpId: SITE.rpId, origins: [SITE.origin] } };

it.each<[what: string, one: Case, is: [state: SignatureState, why?: RegExp]]>([
  ['a key, and no file to compare it with', { ran: {}, files: [] }, ['carried']],
  [
    'the key of a call that failed',
    { turn: REPEATABLE, into: REPEATABLE, ran: { isFailed: true }, files: [] },
    ['carried'],
  ],
  ['the key of a call that was lost', { ran: { isLost: true }, files: [] }, ['carried']],
  ['a passkey, and no file', { passkey: annas, ran: passkeyLine, files: [] }, ['carried']],
  [
    'a mail address, and no file',
    { decision: { approver: 'ANNA@example.com' }, ran: { mail: 'anna@example.com' }, files: [] },
    ['carried'],
  ],
  ['no key, and no file', { files: [] }, ['unknown_key', /carries no key for it/]],
  ['no signature, and no file', { isUnsigned: true, ran: {}, files: [] }, ['none']],
  [
    'a key that was taken out, and no file',
    { ran: {}, files: [], without: ['roster'] },
    ['taken_out', /key was/],
  ],
  ['a key that was taken out, and a file', { ran: {}, without: ['roster'] }, ['verified']],
  ['the key of the file', { ran: { fileDigest: today.digest } }, ['verified']],
  ['the passkey of the file', { passkey: annas, ran: passkeyLine }, ['verified']],
  [
    'a key that only an older file has',
    { ran: {}, files: [changed, today] },
    ['removed', /approvers\.yaml lists its key as one of anna; today's does not/],
  ],
  [
    'a passkey that only an older file has',
    { passkey: annas, ran: passkeyLine, files: [without, today] },
    ['removed', /one of anna/],
  ],
  ['a key that only an older file has, and no line', { files: [changed, today] }, ['removed']],
  [
    'a key that no file has',
    { ran: {}, files: [changed, without] },
    ['unknown_key', /holds by the key that the audit/],
  ],
  [
    'a key that was revoked later',
    { ran: {}, file: revokedSince('2026-01-02') },
    ['revoked', /revoked since 2026-01-02; this was recorded before then/],
  ],
  [
    'a key that had been revoked',
    { ran: {}, file: revokedSince('2025-12-31T23:00:00Z') },
    ['revoked', /recorded since then/],
  ],
  [
    'a passkey that was revoked',
    { passkey: annas, ran: passkeyLine, file: revokedSince('2026-01-02', annas.line) },
    ['revoked', /before then/],
  ],
  [
    'a bad signature with a revoked key',
    { turn: { args: { n: 2 } }, file: revokedSince('2026-01-02') },
    ['bad', /other arguments/],
  ],
  // Whoever can write history, or holds the key of the audit file, can put in any line.
  [
    'another key in its place',
    { ran: { line: stranger.line }, files: [] },
    ['bad', /key that the file carries/],
  ],
  ['another key in its place, and a file', { ran: { line: stranger.line } }, ['bad', /the file carries/]],
  [
    'another person in its place',
    { ran: { person: 'bob' }, files: [] },
    ['bad', /not in the approvers file/],
  ],
  [
    'another installation',
    { ran: { installation: 'cd'.repeat(16) }, files: [] },
    ['bad', /another installation/],
  ],
  ['a line that cannot be read', { ran: { line: 'ssh-ed25519 x' }, files: [] }, ['bad', /cannot be read/]],
  [
    'another site of a passkey',
    {
      passkey: annas,
      ran: { ...passkeyLine, site: { rpId: 'e.com', origins: ['https://e.com'] } },
      files: [],
    },
    ['bad', /another page/],
  ],
  [
    "a stranger's signature with the stranger's key",
    { by: stranger, ran: { line: stranger.line }, files: [] },
    ['carried'],
  ],
  [
    "a stranger's signature with the stranger's key, and a file",
    { by: stranger, ran: { line: stranger.line } },
    ['unknown_key', /none of the approvers files has that key/],
  ],
  [
    "a stranger's signature with the stranger's key, as from a file that is there",
    { by: stranger, ran: { line: stranger.line, fileDigest: today.digest } },
    ['bad', /approvers\.yaml, which it names, does not have/],
  ],
  [
    "the key of somebody else, in the first one's name",
    { by: bob, ran: { line: bob.line } },
    ['bad', /somebody else's key/],
  ],
  [
    'a line of another decision',
    { ran: { decisionId: 'other' }, files: [] },
    ['unknown_key', /carries no key/],
  ],
])('compares %s', async (_what, one, [state, why]) => {
  const { counts, keys, verified, unproven, marked } = await reportOn(one);
  expect(counts).toEqual({ ...OTHERS, [state]: 1 });
  expect(keys).toBe(one.files?.length === 0 ? 'carried' : 'approvers');
  expect(verified).toEqual(state === 'verified' || state === 'removed' ? { anna: 1 } : {});
  const found = { turn: 't', call: '1.1', state };
  const said = [...marked, ...unproven];
  expect(said).toMatchObject(['verified', 'carried', 'none'].includes(state) ? [] : [found]);
  if (why !== undefined) expect(said).toMatchObject([{ why: expect.stringMatching(why) }]);
});

it('judges a signed decision of a turn that is over, though nothing ran by it', async () => {
  const script = waiting();
  const said = { callId: '1.1', decision: 'denied', approver: 'anna', ...signed({}, script) };
  script.update('decide', said, accepted('1.1', 'denied', { approver: 'anna' }));
  const recorder = createRecorder('t');
  const checker = await createSignatureChecker();
  const records = script.fold().flatMap((event) => recorder.push(event));
  const over = records.slice(-1).map((one) => ({ ...one, type: 'turn_ended', event: 99, sealed: {} }));
  for (const text of fileOf([...records, ...over])) {
    const line = readLine(text);
    if (typeof line !== 'string') checker.push(line);
  }
  expect(checker.finish().counts).toEqual({ ...OTHERS, unknown_key: 1 });
});

it('carries no secret and no cut signature', async () => {
  const script = waiting();
  const { signature } = signed({}, script);
  const said = { callId: '1.1', decision: 'approved', approver: 'anna', signature };
  script.update('decide', said, accepted('1.1', 'approved', { approver: 'anna' }));
  const recorder = createRecorder('t');
  const record = script
    .fold()
    .flatMap((event) => recorder.push(event))
    .at(-1);
  expect(record).toMatchObject({
    facts: { agent: 'a', tool: 'pay', generation: 0, ruleDigest: authority.ruleDigest },
    sealed: { signature: signature?.armored, statement: signature?.statement, requesters: '["rita"]' },
  });
});
