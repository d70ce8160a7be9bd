import { type GrantVotes, lackingOn } from './grant-votes';

/** That a grant waits, and for whom, as a sentence; undefined: it does not. */
export function heldSentence(grant: GrantVotes): string | undefined {
  const lacking = lackingOn(grant);
  return lacking && `Until it is confirmed it allows nothing: ${lacking}.`;
}
