import { requireAssured } from '../authority/grants/client-plan';
import type { GrantPasskeyAsk, PasskeyAsk, SignedByPasskey } from '../authority/signatures/passkey-ask';
import { assuranceText, isAssured } from '../authority/rules/stricter-rule';
import type { VoteSignature } from '../contract/decision';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import {
  type GrantToSign,
  type SignableTurns,
  type SignedMessage,
  type Signers,
  signVote,
  type VoteToSign,
} from './signer';
import type { Assurance } from '../contract/authority';

type GrantSigners = Pick<Signers, 'grantSigner' | 'grantPasskeys'>;

/** The assurance that a grant needs, and what the person's passkey signed. */
interface Wanted {
  assurance: Assurance;
  /** Absent: the passkey was not asked. */
  grantPasskey?: SignedByPasskey | undefined;
}

/** The signature to send, if there is one. */
interface Signed {
  signature?: VoteSignature;
}

/**
 * The signature on a grant. It comes from the person's passkey if the rule wants their own key, otherwise from the web
 * inbox. Absent if nobody would check a signature.
 *
 * @throws CountersignError `signature_needed` if a passkey has to sign the grant first, or if the passkey's signature
 * does not count; `refused` if no signature that the person can give here is enough.
 */
export async function signGrant(
  signers: GrantSigners,
  grant: GrantToSign,
  { assurance, grantPasskey }: Wanted,
): Promise<Signed> {
  const ask = await askFor(signers, grant, assurance);
  if (ask === undefined) return byInbox(signers, grant, assurance);
  if (grantPasskey === undefined) throw needsPasskey('grant', assurance, { grantPasskey: ask });
  return { signature: await signers.grantPasskeys?.take(grant, grantPasskey) };
}

/** Refuses a grant that the person cannot sign here. @throws CountersignError `refused`. */
export async function requireSignable(
  signers: GrantSigners,
  grant: GrantToSign,
  { assurance }: Pick<Wanted, 'assurance'>,
): Promise<void> {
  if ((await askFor(signers, grant, assurance)) === undefined) await byInbox(signers, grant, assurance);
}

/**
 * The text that the person's passkey has to sign. Undefined: the web inbox's signature is enough, or the person has no
 * suitable passkey.
 */
async function askFor(
  { grantPasskeys }: GrantSigners,
  grant: GrantToSign,
  assurance: Assurance,
): Promise<GrantPasskeyAsk | undefined> {
  return wantsPasskey(assurance) ? grantPasskeys?.ask(grant) : undefined;
}

/** Whether a grant needs the person's own passkey: in a browser, nothing else gives this assurance. */
export function wantsPasskey(assurance: Assurance): boolean {
  return !isAssured('signed_in', assurance) && isAssured('signed', assurance);
}

async function byInbox(
  { grantSigner }: GrantSigners,
  grant: GrantToSign,
  assurance: Assurance,
): Promise<Signed> {
  const signature = await grantSigner?.(grant);
  requireAssured({ assurance }, signature === undefined ? 'claimed' : 'signed_in');
  return { signature };
}

interface ApprovalAndGrant extends Wanted {
  client: SignableTurns;
  vote: VoteToSign;
  grant: GrantToSign;
}

/**
 * The signatures on an approval and on its grant. Both are made before anything is sent, so that neither is sent
 * without the other.
 *
 * @throws CountersignError as `signVote` and `signGrant`. If both need a passkey, one error asks for both signatures.
 */
export async function signApprovalAndGrant(
  signers: Signers,
  { client, vote, grant, ...wanted }: ApprovalAndGrant,
): Promise<{ vote: SignedMessage; grant: Signed }> {
  const [voted, granted] = await Promise.allSettled([
    signVote({ ...signers, client }, vote),
    signGrant(signers, grant, wanted),
  ]);
  if (voted.status === 'fulfilled' && granted.status === 'fulfilled')
    return { vote: voted.value, grant: granted.value };
  const failures: unknown[] = [voted, granted].flatMap((one) =>
    one.status === 'rejected' ? [one.reason] : [],
  );
  const asks = failures.map(asksIn);
  const other = asks.indexOf(undefined);
  if (other >= 0) throw failures[other];
  throw needsPasskey('approval and the grant', wanted.assurance, Object.assign({}, ...asks));
}

interface Asks {
  passkey?: PasskeyAsk;
  grantPasskey?: GrantPasskeyAsk;
}

/** The passkey signatures that an error asks for. Undefined: the error does not ask for any. */
function asksIn(error: unknown): CountersignError['data'] | undefined {
  if (!(error instanceof CountersignError) || error.code !== 'signature_needed') return undefined;
  const { passkey, grantPasskey } = error.data;
  return passkey === undefined && grantPasskey === undefined ? undefined : defined({ passkey, grantPasskey });
}

function needsPasskey(what: string, assurance: Assurance, asks: Asks): CountersignError {
  return new CountersignError(
    'signature_needed',
    `the rule wants what it decides ${assuranceText(assurance)}: your passkey has to sign the ${what}`,
    { hint: 'Nothing was sent: nothing is decided, and nothing more is allowed.', data: { ...asks } },
  );
}
