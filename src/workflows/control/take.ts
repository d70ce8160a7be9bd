import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import type { RawValue, UpdateDefinition } from '@temporalio/common';
import type { AwayRefused } from '../../contract/control/away';
import type { GrantRefused } from '../../contract/control/grants';
import type { PauseRefused } from '../../contract/control/pauses';
import { type Bounds, readMessage } from '../messages';

type Refused = PauseRefused | GrantRefused | AwayRefused;

/** An update, and the type of the failure by which it is refused. */
export interface Taking<R> {
  update: UpdateDefinition<R, [RawValue]>;
  failure: string;
}

/**
 * Judges an update twice. The validator judges it, so that a refused update leaves nothing in history. The handler
 * judges it again, because another update of the same workflow task may have come first.
 */
export function take<T extends object, R>(
  held: { updates: number },
  { update, failure }: Taking<R>,
  judge: (message: RawValue) => T | Refused,
  apply: (taken: T) => R,
): void {
  setHandler(
    update,
    (message) => {
      held.updates += 1;
      return apply(takenOf(judge(message), failure));
    },
    { validator: (message) => void takenOf(judge(message), failure) },
  );
}

/** What a message has to be. */
export interface Form<T> extends Bounds {
  fits(value: unknown): value is T;
  /** The type of the failure by which it is refused. */
  failure: string;
}

/** A message in its form. @throws ApplicationFailure */
export function readAs<T>(message: RawValue, form: Form<T>): T {
  const found = readMessage(message, form);
  if (!found.ok) throw refusal({ code: 'malformed', message: found.message }, form.failure);
  if (form.fits(found.value)) return found.value;
  throw refusal({ code: 'malformed', message: `this is not a ${form.what}` }, form.failure);
}

/** What was judged. @throws ApplicationFailure where it was refused. */
export function takenOf<T extends object>(answer: T | Refused, type: string): T {
  if (isRefused(answer)) throw refusal(answer, type);
  return answer;
}

function isRefused(answer: object): answer is Refused {
  return 'code' in answer;
}

/** Thrown in the validator, it leaves nothing in history, and the sender gets the answer at once. */
export function refusal(refused: Refused, type: string): ApplicationFailure {
  const { message } = refused;
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [refused] });
}
