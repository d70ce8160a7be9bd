import { Context } from '@temporalio/activity';
import type { CallOutput } from '../contract/call';
import { digestJson } from '../contract/digest';
import { sha256 } from '../system/sha256';
import type { OutcomeSealer } from './journal';
import { placeHere, type SignedPlace } from './reset-history';

/** One scheduling of an activity. No other has the same run, id and time. */
interface GivenBackPlace extends SignedPlace {
  activityId: string;
  /** When the server scheduled it, in milliseconds since 1970. */
  scheduledMs: number;
}

/** Proves and checks that a worker of this installation gave a call back without starting it. */
export interface GiveBacks {
  /** Adds the proof to the output of a call that is given back. Any other output stays as it is. */
  prove(output: CallOutput): Promise<CallOutput>;
  /** Whether the proof is by a worker that has the keys, for exactly this scheduling. */
  isOurs(proof: string | undefined, place: GivenBackPlace): Promise<boolean>;
}

/** The output of a call, with the proof of this worker if it has keys and gives the call back. */
export async function proven(
  { giveBacks }: { giveBacks?: GiveBacks },
  output: CallOutput,
): Promise<CallOutput> {
  return giveBacks === undefined ? output : giveBacks.prove(output);
}

const DID_NOT_START = 'did not start';

/** Proofs by the encryption keys, which workers share and the server does not have. */
export function createGiveBacks(sealer: OutcomeSealer): GiveBacks {
  return {
    prove: async (output) => {
      const isGivenBack = 'askAgain' in output || 'notHere' in output || 'paused' in output;
      if (!isGivenBack) return output;
      const { activityId, scheduledTimestampMs: scheduledMs } = Context.current().info;
      const place = nameOf({ ...placeHere(), activityId, scheduledMs });
      return { ...output, proof: await sealer.seal(DID_NOT_START, place) };
    },
    isOurs: async (proof = '', place) => {
      // Without `required`, a sealer also opens what was never sealed.
      const said = proof === DID_NOT_START ? undefined : await sealer.open(proof, nameOf(place));
      return said === DID_NOT_START;
    },
  };
}

function nameOf(place: GivenBackPlace) {
  return digestJson({ ...place }, sha256);
}
