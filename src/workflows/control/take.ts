import { setHandler } from '@temporalio/workflow';
import type { RawValue, UpdateDefinition } from '@temporalio/common';
import type { GrantRefused } from '../../contract/control/grants';
import type { PauseRefused } from '../../contract/control/pauses';
import { type Bounds, readMessage, refusalFailure, takenOf } from '../messages';

type Refused = PauseRefused | GrantRefused;

/** An update, and the type of the failure that refuses it. */
export interface Taking<R> {
  update: UpdateDefinition<R, [RawValue]>;
  failure: string;
}

/**
 * Sets a handler that judges an update twice. The validator judges it, so that a refused update leaves nothing in
 * history. The handler judges it again, because another update of the same workflow task may have come first.
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

/** The form that a message must have. */
export interface Form<T> extends Bounds {
  fits(value: unknown): value is T;
  /** The type of the failure that refuses a message. */
  failure: string;
}

/** Reads a message that must have this form. @throws ApplicationFailure */
export function readAs<T>(message: RawValue, form: Form<T>): T {
  const found = readMessage(message, form);
  if (!found.ok) throw refusalFailure({ code: 'malformed', message: found.message }, form.failure);
  if (form.fits(found.value)) return found.value;
  throw refusalFailure({ code: 'malformed', message: `this is not a ${form.what}` }, form.failure);
}
