import { LRUCache } from 'lru-cache';
import type { SignableTurn, SignableTurns, VoteToSign } from './signer';

/** A vote that names the request that the page showed, by digest and key. */
type VoteOnShown = Pick<VoteToSign, 'turn' | 'callId' | 'decision' | 'seenDigest'> & {
  callKey?: string;
};

const TURNS = 200;
/** The most characters of all kept requests together. */
const MOST_CHARACTERS = 8_000_000;
const KEPT_MS = 10 * 60_000;

/**
 * The requests in the form in which this web inbox last showed them, so that signing a vote needs no request to the
 * server. The worker checks the signature against its own data. So if a request has changed since it was shown, the
 * vote does not count.
 */
export class ShownCalls {
  private readonly kept = new LRUCache<string, SignableTurn>({
    max: TURNS,
    ttl: KEPT_MS,
    maxSize: MOST_CHARACTERS,
    sizeCalculation: ({ calls }) => JSON.stringify(calls).length,
  });

  keep({ turn, agent, calls }: SignableTurn): void {
    const waiting = calls.filter(({ phase }) => phase === 'request');
    if (waiting.length > 0) this.kept.set(turn, { turn, agent, calls: waiting });
    else this.kept.delete(turn);
  }

  /** The turn as it was shown with exactly this request. Undefined: the turn has to be read. */
  of({ turn, callId, decision, seenDigest, callKey }: VoteOnShown): SignableTurn | undefined {
    // A signature for `run-again` covers the next generation of the call, which only the turn itself tells.
    if (decision === 'run-again') return undefined;
    const shown = this.kept.get(turn);
    const request = shown?.calls.find((call) => call.callId === callId)?.request;
    const isThis = request !== undefined && request.seenDigest === seenDigest && request.callKey === callKey;
    return isThis ? shown : undefined;
  }
}

/** Returns the turn as it was shown, or reads the turn if the vote is on something else. */
export function signableBy(shown: ShownCalls, reader: SignableTurns, vote: VoteOnShown): SignableTurns {
  return {
    view: async (turn) => shown.of(vote) ?? (await reader.view(turn)),
    placeOf: (turn) => reader.placeOf(turn),
  };
}
