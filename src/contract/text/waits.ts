import type { Accepted, VotesNeeded } from '../decision';

/** What a request still needs, in words. */
export function needsText({ approvals, groups = [], who }: VotesNeeded): string {
  const more = `${approvals} more approval${approvals === 1 ? '' : 's'} needed`;
  const heard = groups.length === 0 ? '' : `, ${groups.join(' and ')} to be heard`;
  const most = who.length === 0 ? 'nobody else may vote' : `${who.join(', ')} may vote`;
  return `${more}${heard}; ${most}`;
}

/** An answer to a decision that was taken. */
type Taken = { status: 'recorded' } | { status: 'accepted'; verdict: Pick<Accepted, 'asksAgain' | 'needs'> };

/** What still has to happen before a decision takes effect, in a sentence. Undefined: it took effect. */
export function waitsText(answer: Taken): string | undefined {
  if (answer.status === 'recorded')
    return 'Recorded: it takes effect if a worker takes it up before the deadline.';
  const { asksAgain, needs } = answer.verdict;
  if (needs !== undefined) return `It still waits: ${needsText(needs)}.`;
  return asksAgain === true ? 'Nothing ran: it comes here again for a decision.' : undefined;
}
