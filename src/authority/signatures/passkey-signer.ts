import type { SignedByPasskey } from './passkey-ask';
import { grantSentence } from '../grants/grant-text';
import type { VoteSignature } from '../../contract/decision';
import { CountersignError } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { assuranceOf, VOTE_FAULTS } from './vote-signature';
import { assuranceOfGrant, givenBy, grantFault, signedGrantText } from './grant-statement';
import type { SignedInGrant, SignedInVote } from './inbox-key';
import type { ApproversSource } from '../rules/current-file';
import { statementOf, statementText } from './statement';
import { factsToSign, signatureOf, timesToSign } from './facts-to-sign';

/**
 * Reads the current approvers file for each request. It keeps no state, because the answer brings back everything that
 * is needed to rebuild the signed statement.
 */
export function passkeySigner(approvers: ApproversSource) {
  const read = async ({ agent, call, place, approver: user }: SignedInVote) => {
    const file = await approvers.current();
    const approver = file.personOf(user);
    const facts = factsToSign({ agent }, call, { installation: file.installation, ...place });
    return { file, approver, facts };
  };
  return {
    /**
     * The site at which a person creates a passkey. `user` is the name under which the person is signed in. Undefined:
     * the file does not name the person, or has no site for passkeys.
     */
    placeOf: async (user: string) => {
      const file = await approvers.current();
      const person = file.personOf(user);
      if (person === undefined || file.passkeySite === undefined) return undefined;
      const ids = file.passkeysOf(person).map(({ id }) => id);
      return { rpId: file.passkeySite.rpId, person, ids };
    },
    /**
     * The text to sign and the passkeys that may sign it. Undefined: the person has no passkey in the file, or nobody
     * would check a signature.
     */
    ask: async (vote: SignedInVote) => {
      const { file, approver, facts } = await read(vote);
      const site = file.passkeySite;
      if (approver === undefined || facts === undefined || site === undefined) return undefined;
      const { decisionId, decision, reason, suggestion, hunks, call } = vote;
      const times = timesToSign(call, Date.now());
      const said = { decisionId, decision, approver, ...times, reason, suggestion, hunks };
      const statement = statementOf(facts, said);
      const ids = file.passkeysOf(approver).map(({ id }) => id);
      if (statement === undefined || ids.length === 0) return undefined;
      return { statement: statementText(statement), rpId: site.rpId, ids };
    },
    /**
     * Checks a signature and returns it in the form that is sent with the vote.
     *
     * @throws CountersignError `signature_needed` if the worker would refuse the signature.
     */
    take: async (vote: SignedInVote, { assertion, at, notAfter }: SignedByPasskey) => {
      const { file, approver, facts } = await read(vote);
      if (approver === undefined || facts === undefined) throw refused(VOTE_FAULTS.unknown_person);
      const now = Date.now();
      if (isOld(at, now)) throw refused(TOO_OLD);
      const { decisionId, decision, reason, suggestion, hunks } = vote;
      const chosen = { reason, suggestion, hunks: hunks && [...hunks] };
      const said = { decisionId, decision, approver, at, notAfter, ...chosen };
      const statement = statementOf(facts, said);
      if (statement === undefined) throw refused(VOTE_FAULTS.malformed);
      const signature = signatureOf('passkey', assertion, { text: statementText(statement), at, notAfter });
      const { kind, armored, statement: text } = signature;
      const judged = assuranceOf(
        { ...said, seenDigest: facts.seenDigest, signature: { kind, armored, statement: text } },
        { facts, approvers: file, now },
      );
      if (!judged.ok) throw refused(VOTE_FAULTS[judged.why]);
      return signature;
    },
  };
}

/**
 * Reads the current approvers file for each request. It keeps no state, because the grant comes back with the
 * signature.
 */
export function passkeyGrantSigner(approvers: ApproversSource) {
  return {
    /**
     * The text to sign and the passkeys that may sign it. Undefined: the file has no place for passkeys, or no passkey of
     * the person, or the person has another name in the file than in the grant.
     */
    ask: async ({ terms, namespace, user, says = givenBy(terms) }: SignedInGrant) => {
      const { installation, passkeySite: site, personOf, passkeysOf } = await approvers.current();
      if (site === undefined || personOf(user) !== says.voter) return undefined;
      const ids = passkeysOf(says.voter).map(({ id }) => id);
      if (ids.length === 0) return undefined;
      const statement = signedGrantText(terms, { installation, namespace }, says);
      return { statement, rpId: site.rpId, ids, sentence: grantSentence(terms) };
    },
    /**
     * Checks a signature and returns it in the form that is sent with the grant.
     *
     * @throws CountersignError `signature_needed` if the worker would refuse the signature.
     */
    take: async (
      { terms, namespace, user, says = givenBy(terms) }: SignedInGrant,
      { assertion }: Pick<SignedByPasskey, 'assertion'>,
    ) => {
      const file = await approvers.current();
      const now = Date.now();
      if (file.personOf(user) !== says.voter) throw refusedGrant(VOTE_FAULTS.unknown_person);
      if (isOld(says.at, now)) throw refusedGrant(TOO_OLD);
      const at = { at: says.at, notAfter: terms.until };
      const signature: VoteSignature = { kind: 'passkey', armored: assertion, ...at };
      const { installation } = file;
      const judge = { installation, namespace, approvers: file, now };
      const judged = assuranceOfGrant(terms, { ...says, signature }, judge);
      if (!judged.ok) throw refusedGrant(grantFault(judged));
      return signature;
    },
  };
}

/**
 * Whether a signature is too old to be sent. The worker accepts a signature until its `notAfter`, so that other people have
 * time to vote, but the page has no reason to wait.
 */
function isOld(at: string, now: number) {
  return !(now - Date.parse(at) <= TIMES.clockSkew);
}

const TOO_OLD = 'it is too old to be sent';

function refused(why: string) {
  return new CountersignError(
    'signature_needed',
    `the signature of the passkey does not count: ${why}`,
    'Nothing was decided: look at the call again, and sign it anew.',
  );
}

function refusedGrant(why: string) {
  return new CountersignError(
    'signature_needed',
    `the signature of the passkey on the grant does not count: ${why}`,
    'Nothing was decided and nothing is allowed: look at it again, and sign it anew.',
  );
}
