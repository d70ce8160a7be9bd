import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { SaysOfGrant } from '../grants/grant-votes';
import type { GrantTerms } from '../grants/grant';
import type { VoteSignature } from '../../contract/decision';
import { CountersignError, errnoOf, errorMessage } from '../../contract/errors';
import { systemReason } from '../../contract/text/system-errors';
import { createWhole, makeFolderOf, privateFaultText, readPrivateFile } from '../../system/files';
import { signedGrantText } from './grant-statement';
import { ed25519Line, readKeyLine } from './ssh-key';
import { armorOf, INBOX_GRANT_NAMESPACE, INBOX_NAMESPACE, sshSignedBytes } from './ssh-signature';
import type { ApproversSource } from '../rules/current-file';
import { type Statement, statementOf, statementText } from './statement';
import { factsToSign, type ShownCall, signatureOf, type SignedAt, timesToSign } from './facts-to-sign';

/** The key with which a web inbox signs that the approver was signed in. */
interface InboxKey {
  /** The line that an administrator adds to `inboxKeys` of the approvers file. */
  line: string;
  fingerprint: string;
  /** Signs a statement in the form of OpenSSH, with a namespace that is for web inboxes only. */
  sign(statement: Statement): string;
  /** Signs the text of a grant, with a namespace that is for grants only. */
  signGrant(text: string): string;
}

/**
 * Reads the key from a file that only its owner may read. If there is no such file yet, creates it with a new key.
 *
 * @throws CountersignError `config_invalid`.
 */
export async function openInboxKey(file: string): Promise<InboxKey> {
  const read = readPrivateFile(file, { strict: true });
  if ('text' in read) return inboxKeyOf(read.text, file);
  if (read.fault !== 'missing') throw refused(file, `it ${privateFaultText(read)}`, read.cause);
  try {
    await makeFolderOf(file);
    await createWhole(file, `${newKey()}\n`);
  } catch (cause) {
    // Another web inbox has just created the file.
    if (errnoOf(cause) !== 'EEXIST') throw refused(file, systemReason(cause) ?? errorMessage(cause), cause);
  }
  return readInboxKey(file);
}

/** Like `openInboxKey`, but never creates a key. @throws CountersignError `config_invalid`. */
export function readInboxKey(file: string): InboxKey {
  const read = readPrivateFile(file, { strict: true });
  if (!('text' in read)) throw refused(file, `it ${privateFaultText(read)}`, read.cause);
  return inboxKeyOf(read.text, file);
}

function refused(file: string, why: string, cause?: unknown) {
  return new CountersignError('config_invalid', `the web inbox's key in ${file} cannot be used: ${why}`, {
    hint: 'A key of which others may have a copy is replaced: delete the file, and take its line out of the approvers file.',
    cause,
  });
}

/**
 * A new key as text. It is generated as text, because Node 20 hangs if it collects garbage while a new key is exported.
 */
function newKey() {
  const { privateKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return privateKey.trim();
}

function inboxKeyOf(pem: string, file: string): InboxKey {
  const key = privateKeyIn(pem);
  if (key?.asymmetricKeyType !== 'ed25519') throw refused(file, 'there is no Ed25519 key in it');
  const { line, blob } = ed25519Line(createPublicKey(key), 'countersign web inbox');
  const read = readKeyLine(line);
  if (!read.ok) throw refused(file, read.why);
  const signAs = (namespace: string, text: string) => {
    const about = { namespace, hash: 'sha512' } as const;
    const signed = sshSignedBytes(Buffer.from(text), about.namespace, about.hash);
    return armorOf({ ...about, keyBlob: blob, algorithm: 'ssh-ed25519', value: sign(null, signed, key) });
  };
  return {
    line,
    fingerprint: read.key.fingerprint,
    sign: (statement) => signAs(INBOX_NAMESPACE, statementText(statement)),
    signGrant: (text) => signAs(INBOX_GRANT_NAMESPACE, text),
  };
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // The cause could quote the key.
    return undefined;
  }
}

/** The vote of a signed-in person on a call. */
export interface SignedInVote {
  agent: string;
  call: ShownCall;
  place: Omit<SignedAt, 'installation'>;
  decisionId: Statement['decisionId'];
  decision: Statement['decision'];
  /** The name under which the person is signed in. */
  approver: string;
  reason?: string;
  suggestion?: string;
  /** The ids of the hunks that the person approves. Absent: the whole call. */
  hunks?: readonly string[];
}

/**
 * Signs the votes of people who are signed in. Undefined if nobody would check the signature, or if the file does not
 * name the person.
 */
export function inboxSigner({
  key,
  approvers,
}: {
  key: InboxKey;
  approvers: ApproversSource;
}): (vote: SignedInVote) => Promise<VoteSignature | undefined> {
  return async ({ agent, call, place, approver: user, reason, suggestion, hunks, ...vote }) => {
    const { installation, personOf } = await approvers.current();
    const approver = personOf(user);
    const facts = factsToSign({ agent }, call, { installation, ...place });
    if (facts === undefined || approver === undefined) return undefined;
    const times = timesToSign(call, Date.now());
    const { decisionId, decision } = vote;
    const said = { decisionId, decision, approver, ...times, reason, suggestion, hunks };
    const statement = statementOf(facts, said);
    if (statement === undefined) return undefined;
    return signatureOf('inbox', key.sign(statement), { text: statementText(statement), ...times });
  };
}

/**
 * A grant that a signed-in person gives. If `says` is set, the person confirms the grant, and `says` has their name and
 * the time.
 */
export interface SignedInGrant {
  terms: GrantTerms;
  namespace: string;
  /** The name under which the person is signed in. */
  user: string;
  says?: SaysOfGrant;
}

/**
 * Signs the grants of people who are signed in. Undefined if the person's name in the file is not the name in the
 * grant.
 */
export function inboxGrantSigner({
  key,
  approvers,
}: {
  key: InboxKey;
  approvers: ApproversSource;
}): (grant: SignedInGrant) => Promise<VoteSignature | undefined> {
  return async ({ terms, namespace, user, says }) => {
    const { installation, personOf } = await approvers.current();
    // The grant comes from a workflow, so it may name anybody as the person who signs.
    if (personOf(user) !== (says?.voter ?? terms.by)) return undefined;
    const armored = key.signGrant(signedGrantText(terms, { installation, namespace }, says));
    return { kind: 'inbox', armored, at: (says ?? terms).at, notAfter: terms.until };
  };
}
