import type { GrantPasskeyAsk, SignedByPasskey } from '../../contract/authority/passkeys';
import { grantSentence } from '../../contract/control/grant-text';
import type { VoteSignature } from '../../contract/decision';
import { CountersignError } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { VOTE_FAULTS } from '../assurance';
import { assuranceOfGrant, givenBy, grantFault, signedGrantText } from '../grant-statement';
import type { SignedInGrant } from '../inbox-key';
import type { ApproversSource } from '../source';

/**
 * Asks signed-in people to sign with their passkeys the grants that they give or confirm, and checks these signatures.
 */
export interface PasskeyGrantSigner {
  /**
   * The text to sign and the passkeys that may sign it. Undefined: the file has no place for passkeys, or no passkey of
   * the person, or the person has another name in the file than in the grant.
   */
  ask(grant: SignedInGrant): Promise<GrantPasskeyAsk | undefined>;
  /**
   * Checks a signature and returns it in the form that is sent with the grant.
   *
   * @throws CountersignError `signature_needed` if the worker would refuse the signature.
   */
  take(grant: SignedInGrant, signed: Pick<SignedByPasskey, 'assertion'>): Promise<VoteSignature>;
}

/**
 * Reads the current approvers file for each request. It keeps no state, because the grant comes back with the
 * signature.
 */
export function passkeyGrantSigner(approvers: ApproversSource): PasskeyGrantSigner {
  return {
    ask: async ({ terms, namespace, user, says = givenBy(terms) }) => {
      const { installation, passkeySite: site, personOf, passkeysOf } = await approvers.current();
      if (site === undefined || personOf(user) !== says.voter) return undefined;
      const ids = passkeysOf(says.voter).map(({ id }) => id);
      if (ids.length === 0) return undefined;
      const statement = signedGrantText(terms, { installation, namespace }, says);
      return { statement, rpId: site.rpId, ids, sentence: grantSentence(terms) };
    },
    take: async ({ terms, namespace, user, says = givenBy(terms) }, { assertion }) => {
      const file = await approvers.current();
      const now = Date.now();
      if (file.personOf(user) !== says.voter) throw refused(VOTE_FAULTS.unknown_person);
      // The worker accepts the signature until the grant ends. The page has no reason to wait, so an old signature is
      // refused.
      if (!(now - Date.parse(says.at) <= TIMES.clockSkew)) throw refused('it is too old to be sent');
      const at = { at: says.at, notAfter: terms.until };
      const signature: VoteSignature = { kind: 'passkey', armored: assertion, ...at };
      const { installation } = file;
      const judge = { installation, namespace, approvers: file, now };
      const judged = assuranceOfGrant(terms, { ...says, signature }, judge);
      if (!judged.ok) throw refused(grantFault(judged));
      return signature;
    },
  };
}

function refused(why: string): CountersignError {
  return new CountersignError(
    'signature_needed',
    `the signature of the passkey on the grant does not count: ${why}`,
    { hint: 'Nothing was decided and nothing is allowed: look at it again, and sign it anew.' },
  );
}
