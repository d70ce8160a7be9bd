import { LRUCache } from 'lru-cache';
import type { SignableTurn, SignableTurns, SignedInVote } from './signer';

/** A vote on a request that the page names by everything it showed. */
type VoteOnShown = Pick<SignedInVote, 'turn' | 'callId' | 'decision' | 'seenDigest'> & {
  callKey?: string | undefined;
};

/** The requests as this web inbox showed them last. */
export interface ShownCalls {
  keep(turn: SignableTurn): void;
  /** The turn as it was shown with this very request. Undefined: it has to be read. */
  of(vote: VoteOnShown): SignableTurn | undefined;
}

const TURNS = 200;
/** Characters of all requests together. */
const MOST_CHARACTERS = 8_000_000;
const KEPT_MS = 10 * 60_000;

/**
 * Keeps what people were shown, so that a signature on it needs no question to the server. The worker checks the
 * signature against what it knows itself. So where a request has changed since it was shown, the vote does not count.
 */
export function createShownCalls(): ShownCalls {
  const kept = new LRUCache<string, SignableTurn>({
    ...{ max: TURNS, ttl: KEPT_MS, maxSize: MOST_CHARACTERS },
    sizeCalculation: ({ calls }) => JSON.stringify(calls).length,
  });
  return {
    keep: ({ turn, firstRunId, agent, calls }) => {
      const waiting = calls.filter(({ phase }) => phase === 'requested');
      if (waiting.length > 0) kept.set(turn, { turn, firstRunId, agent, calls: waiting });
      else kept.delete(turn);
    },
    of: ({ turn, callId, decision, seenDigest, callKey }) => {
      // A call in doubt runs again with another generation, which no request shows.
      if (decision === 'run-again') return undefined;
      const shown = kept.get(turn);
      const request = shown?.calls.find((call) => call.callId === callId)?.request;
      const isThis =
        request !== undefined && request.seenDigest === seenDigest && request.callKey === callKey;
      return isThis ? shown : undefined;
    },
  };
}

/** Reads what a vote is on, where it is not what was shown. */
export function signableBy(shown: ShownCalls, reader: SignableTurns, vote: VoteOnShown): SignableTurns {
  return {
    view: async (turn) => shown.of(vote) ?? (await reader.view(turn)),
    placeOf: (turn) => reader.placeOf(turn),
  };
}
