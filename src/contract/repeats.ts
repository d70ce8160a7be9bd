import { digestText } from './digest';
import { isValidCall, type PreparedCall } from './call';
import { LIMITS } from './limits';
import type { Repeated } from './spending/carried';

/**
 * The last steps that were alike, and their limit. After that many steps, the calls of another such step do not run.
 */
interface Repeats {
  repeated: Repeated;
  /** Undefined: any number of steps may be equal. */
  repeats: number | undefined;
}

/** Whether a step asks for the same calls as the steps before it, so many times that its calls do not run. */
export function isRepeated({ repeated, repeats }: Repeats, calls: readonly PreparedCall[]): boolean {
  return repeats !== undefined && repeated.times >= repeats && repeated.calls === signatureOf(calls);
}

/** The repeated steps, once one more step has ended. `digests` are the digests of that step's results. */
export function afterStep(
  { repeated, repeats }: Repeats,
  calls: readonly PreparedCall[],
  digests: readonly string[],
): Repeated {
  if (repeats === undefined) return repeated;
  if (isRepeated({ repeated, repeats }, calls)) return { ...repeated, refused: repeated.refused + 1 };
  const signature = signatureOf(calls);
  const results = shortened(digests.join());
  const isAlike = repeated.calls === signature && repeated.results === results;
  return { calls: signature, results, times: isAlike ? repeated.times + 1 : 1, refused: 0 };
}

/** Whether the model asked for such a step so often, although its calls did not run, that the turn ends. */
export function isLoop({ repeated, repeats }: Repeats): boolean {
  return repeats !== undefined && repeated.refused >= LIMITS.refusedSteps;
}

/**
 * The most characters that are compared of a name, and of arguments that could not be parsed. The results are compared,
 * too.
 */
const MOST_CHARACTERS = 200;

/** The calls of a step without their ids, for a comparison. */
function signatureOf(calls: readonly PreparedCall[]) {
  const each = calls.map((call) => {
    const what = isValidCall(call)
      ? call.argsDigest
      : (call.raw ?? (call.kind === 'remote' ? '' : JSON.stringify(call.proposed))).slice(0, MOST_CHARACTERS);
    return `${call.tool.slice(0, MOST_CHARACTERS)} ${what}`;
  });
  return shortened(each.join('\n'));
}

/** A text or, if it is long, its digest. The turn takes both texts along beside a transcript that may be at its limit. */
function shortened(text: string) {
  return text.length <= MOST_KEPT ? text : digestText(text);
}

const MOST_KEPT = 1_000;
