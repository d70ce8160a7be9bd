import { type Approvers, parseApprovers } from '../../src/authority/approvers';
import { type Statement, statementOf, statementText } from '../../src/authority/statement';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/to-sign';
import type { Decision } from '../../src/contract/decision';
import { redactLine, readLine } from '../../src/history/audit/read';
import { createRecorder } from '../../src/history/audit/records';
import { createSignatureChecker, type SignatureReport } from '../../src/cli/audit-signatures';
import type { SealedField } from '../../src/history/audit/format';
import { viewOf } from '../../src/history/view';
import { newPasskey, SITE, type TestPasskey } from '../support/passkey';
import { newSigner } from '../support/ssh';
import { accepted, ask, item, Script } from '../history/script';
import { fileOf } from '../history/audit/sample';

type SignatureState = keyof SignatureReport['counts'];
const INSTALLATION = 'ab'.repeat(16);
const [anna, bob, stranger] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];
const [annas, removed] = [newPasskey(), newPasskey()];

const approversWith = (keys: readonly string[]): Approvers =>
  parseApprovers(
    `installation: '${INSTALLATION}'
rpId: ${SITE.rpId}
origins: ['${SITE.origin}']
people:
  anna: { keys: ${JSON.stringify(keys)}, passkeys: ['${annas.line}'], mail: anna@example.com }
  bob: { keys: ${JSON.stringify([bob.line])} }
rules: [{ name: default, then: ask }]
`,
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
  firstRunId?: string;
}

const waiting = ({ args = { n: 1 }, callId = '1.1', firstRunId }: Turn = {}): Script => {
  const script = new Script();
  script.add({
    ...{ kind: 'started', turn: 't', runId: 'r', taskQueue: 'q', input: { agent: 'a', prompt: 'go' } },
    ...(firstRunId === undefined ? {} : { firstRunId }),
  });
  const call = ask(callId, { authority, arguments: { ...args }, toolDigest: '1'.repeat(64) });
  return script
    .task()
    .think(1, [call])
    .open([item(callId)]);
};

/** A signature on the call of a turn, as the terminal makes one. */
interface Signing {
  turn?: Turn;
  workflowId?: string;
  firstRun?: string;
  says?: Partial<Pick<Statement, 'decision' | 'approver' | 'reason'>>;
  by?: { sign(message: Buffer): string };
  /** Signs in place of an SSH key. */
  passkey?: TestPasskey;
  /** After it was signed: milliseconds. */
  early?: number;
}

const signed = (signing: Signing, script: Script): Pick<Decision, 'signature'> => {
  const {
    turn,
    workflowId = 't',
    firstRun = turn?.firstRunId ?? 'r',
    says,
    by = anna,
    passkey,
    early = 0,
  } = signing;
  const view = viewOf(waiting(turn).fold());
  const [call] = view.calls;
  const at = { installation: INSTALLATION, namespace: 'default', workflowId, firstExecutionRunId: firstRun };
  const facts = call && factsToSign(view, call, at);
  if (facts === undefined) throw new Error('nothing to sign');
  const times = timesToSign(call ?? {}, Date.parse(script.fold().at(-1)?.at ?? '') + early);
  const statement = statementOf(facts, { decision: 'approved', approver: 'anna', ...times, ...says });
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
  without?: SealedField[];
}

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
  const recorder = createRecorder('t');
  const checker = await createSignatureChecker(one.file ?? approvers);
  for (const text of fileOf(script.fold().flatMap((event) => recorder.push(event)))) {
    const whole = readLine(text);
    if (typeof whole === 'string') throw new Error(whole);
    const line = readLine(redactLine(text, whole, one.without ?? []));
    if (typeof line !== 'string') checker.push(line);
  }
  return checker.finish();
};

const OTHERS = { verified: 0, none: 0, bad: 0, unknown_key: 0, taken_out: 0 };

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
  [
    'one in a run that continues another',
    { turn: { firstRunId: 'first' }, into: { firstRunId: 'first' } },
    ['verified'],
  ],
  ['one without what was signed in words', { without: ['statement'] }, ['verified']],
  ['no signature', { isUnsigned: true }, ['none']],
  ['other arguments', { turn: { args: { n: 2 } } }, ['bad', /other arguments/]],
  ['another decision', { says: { decision: 'denied' } }, ['bad', /says something else/]],
  ['another reason', { decision: { reason: 'other' } }, ['bad', /says something else/]],
  ['another call', { turn: { callId: '1.2' } }, ['bad', /another call/]],
  ['the signature of another turn', { workflowId: 'other' }, ['bad', /another turn/]],
  ['that of another run of this id', { firstRun: 'other' }, ['bad', /another turn/]],
  [
    'what was changed, without words',
    { firstRun: 'other', without: ['statement'] },
    ['bad', /not a signature/],
  ],
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
    facts: { firstRun: 'r', agent: 'a', tool: 'pay', generation: 0, ruleDigest: authority.ruleDigest },
    sealed: { signature: signature?.armored, statement: signature?.statement, requesters: '["rita"]' },
  });
});
