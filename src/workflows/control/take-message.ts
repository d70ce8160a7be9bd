import { setHandler } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import { type Bounds, rawUpdate, readMessage, refusalFailure, takenOf } from '../messages';

/** The code and the message of a refusal. */
interface Refused {
  code: string;
  message: string;
}

/**
 * Sets a handler that judges an update twice. The validator judges it, so that a refused update leaves nothing in
 * history. The handler judges it again, because another update of the same workflow task may have come first.
 */
export function take<T extends object, R>(
  { update, failure }: { update: string; failure: string },
  judge: (message: RawValue) => T | Refused,
  apply: (taken: Exclude<T, Refused>) => R,
): void {
  setHandler(rawUpdate<R>(update), (message) => apply(takenOf(judge(message), failure)), {
    validator: (message) => void takenOf(judge(message), failure),
  });
}

/** The form that a message must have. */
export interface Form<T> extends Bounds {
  fits(value: unknown): value is T;
  /** The type of the failure that refuses a message. */
  failure: string;
  /** What is wrong with a value that does not fit, in words. @default no words */
  issues?(value: unknown): string;
}

/** Reads a message that must have this form. @throws ApplicationFailure */
export function readAs<T>(message: RawValue, form: Form<T>): T {
  const refuse = (why: string) => refusalFailure({ code: 'malformed', message: why }, form.failure);
  const found = readMessage(message, form);
  if (!found.ok) throw refuse(found.message);
  if (form.fits(found.value)) return found.value;
  throw refuse(`not a ${form.what}${form.issues === undefined ? '' : `: ${form.issues(found.value)}`}`);
}
