import { ApplicationFailure } from '@temporalio/workflow';
import { type Duration, msToNumber } from '@temporalio/common';
import type { GateHeader, GateInput, GivenTool } from '../../contract/gate';
import type { JsonObject } from '../../contract/json';
import { FAILURES } from '../../contract/names';

/** What is asked about: the call as its workflow knows it. */
export interface CallToAsk
  extends Pick<GateInput, 'gated' | 'tool' | 'settings'>, Pick<GateHeader, 'hasKey'> {
  /** The tool for its arguments. The preview of a text is for the first arguments alone. */
  given?(args: JsonObject | undefined): GivenTool;
}

/**
 * A time in milliseconds.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if the given value is not a time.
 */
export function toMs(time: Duration, option: string): number {
  const ms = parseTime(time);
  if (Number.isFinite(ms) && ms >= 1) return Math.round(ms);
  const forms = option === 'expiresIn' ? "milliseconds, '2 hours' or 'never'" : "milliseconds or '2 hours'";
  throw gateFailure(`${option} ${JSON.stringify(time)} is not a time; write ${forms}`);
}

/** Like `parseDuration` of our tools, which workflows may not import. `contract` may not import Temporal's reader. */
function parseTime(time: Parameters<typeof msToNumber>[0]) {
  try {
    return msToNumber(time);
  } catch {
    return Number.NaN;
  }
}

/**
 * The failure for a mistake in the code of the workflow. It fails the workflow, while a plain Error would fail its
 * workflow tasks again and again.
 */
export function gateFailure(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, FAILURES.gate);
}

/** What a model reads of a call: its result, after a note on what a person changed or said. */
export function noteBefore(note: string | undefined, result: unknown): unknown {
  if (note === undefined) return result;
  if (result === undefined) return note;
  return typeof result === 'string' ? `${note}\n\n${result}` : { note, result };
}
