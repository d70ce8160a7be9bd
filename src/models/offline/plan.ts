import type { JsonObject } from '../../contract/json';
import type { Outcome, Round } from './outcome';

/** A call to ask for. */
export interface PlannedCall {
  tool: string;
  arguments: JsonObject;
}

/** What came of one request, in lines; `failed` where nothing of it was done, which ends the requests after it. */
export interface Report {
  lines: string[];
  failed: boolean;
}

/**
 * A request as a generator: it gives the calls of a step and is handed their outcomes. It is run anew from its beginning
 * at every step, with the outcomes that the conversation holds; so it keeps no state and must not depend on anything else.
 */
export type Plan = Generator<PlannedCall[], Report, Round>;

/** The names of the tools that a step may ask for. */
export type Toolbox = ReadonlySet<string>;

/** Calls of one step at most: few enough for a person to look through. */
export const CALLS_PER_STEP = 16;

/** One call after the other request's outcomes were seen; undefined where history does not hold its result. */
export function* askAll(
  calls: readonly PlannedCall[],
): Generator<PlannedCall[], (Outcome | undefined)[], Round> {
  const outcomes: (Outcome | undefined)[] = [];
  for (let start = 0; start < calls.length; start += CALLS_PER_STEP) {
    const step = calls.slice(start, start + CALLS_PER_STEP);
    const round = yield step;
    outcomes.push(...step.map((_, index) => round[index]));
  }
  return outcomes;
}

/** A report that a tool is missing. */
export function lacking(...tools: readonly string[]): Report {
  return { lines: [`Not done: this agent has no tool ${tools.join(' or ')}.`], failed: true };
}
