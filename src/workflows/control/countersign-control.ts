import {
  allHandlersFinished,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  setHandler,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { RawValue, UpdateDefinition } from '@temporalio/common';
import { confirmGrant } from '../../contract/control/confirmations';
import {
  GRANT_FIELDS,
  isConfirmAsked,
  isGrantAsked,
  isRevokeAsked,
  isUseAsked,
  readGrants,
} from '../../contract/control/grant-forms';
import {
  addGrant,
  claimUse,
  grantSeen,
  type GrantRefused,
  type GrantsState,
  memoOf,
  noGrants,
  revokeGrants,
  seenOf,
} from '../../contract/control/grants';
import {
  addPause,
  type ControlInput,
  endPauses,
  PAUSE,
  type Pause,
  type PauseRefused,
  readPauses,
  RESUME,
} from '../../contract/control/pauses';
import { defined } from '../../contract/defined';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { FAILURES, MEMO } from '../../contract/names';
import { describeIssues } from '../../contract/read-json';
import { messageCheck, messageGuard } from '../../contract/schema/message';
import type { MessageOf, MessageSchema } from '../../contract/schema/message';
import { whyUnreadable } from '../../contract/unreadable';
import { misfit } from '../check-start';
import {
  type Bounds,
  confirmUpdate,
  grantsQuery,
  grantUpdate,
  pauseUpdate,
  readMessage,
  refusalFailure,
  resumeUpdate,
  revokeUpdate,
  takenOf,
  useUpdate,
} from '../messages';

/** The most bytes of a message without a grant, as JSON: twice the most that its texts may have. */
const BYTES = 8 * 1024;
/** The most bytes of the confirmation of a grant, with its signature and the signed text, as JSON. */
const GRANT_BYTES = 32 * 1024;

/** The state that this workflow holds. */
interface Held {
  pauses: Pause[];
  grants: GrantsState;
  /** The number of updates that this run has taken. */
  updates: number;
}

/**
 * Holds the pauses and the grants of a namespace. Its memo has the pauses and the ids of void grants.
 * A worker that starts a call reads them with one request to the server, for which no worker of this workflow has to
 * run. The workflow never ends by itself. If it existed and is closed, no call with an effect starts.
 */
export async function countersignControl(input?: ControlInput): Promise<void> {
  const held = heldIn(input);
  takePauses(held);
  takeGrants(held);
  const isLong = (): boolean =>
    held.updates >= LIMITS.pauseUpdates || (held.updates > 0 && workflowInfo().continueAsNewSuggested);
  // A cancellation is ignored, because a closed workflow would hold all calls. So only terminating it closes the
  // workflow.
  await CancellationScope.nonCancellable(() => condition(() => isLong() && allHandlersFinished()));
  const { pauses, grants } = held;
  const hasGrants = grants !== noGrants();
  const memo = defined({
    [MEMO.pauses]: pauses.length === 0 ? undefined : pauses,
    [MEMO.grants]: hasGrants ? memoOf(grants) : undefined,
  });
  const next: ControlInput = { pauses, ...(hasGrants ? { grants } : {}) };
  await makeContinueAsNewFunc<typeof countersignControl>({ memo })(next);
}

function takePauses(held: Held): void {
  const publish = (now: Pause[]): void => {
    held.pauses = now;
    upsertMemo({ [MEMO.pauses]: now.length === 0 ? null : now });
  };
  const pausing = (message: RawValue, made: { id: string; at: string }) =>
    addPause(held.pauses, read(message, PAUSE, 'pause'), made);
  const resuming = (message: RawValue) => endPauses(held.pauses, read(message, RESUME, 'resume'));
  setHandler(
    pauseUpdate,
    (message) => {
      held.updates += 1;
      const { pauses: now, taken } = takenOf(pausing(message, { id: uuid4(), at: isoNow() }), FAILURES.pause);
      if (taken.already !== true) publish(now);
      return taken;
    },
    // The id is drawn in the handler, because history does not record what a validator draws.
    { validator: (message) => void takenOf(pausing(message, UNNAMED), FAILURES.pause) },
  );
  take(held, { update: resumeUpdate, failure: FAILURES.pause }, resuming, ({ pauses: now, ended }) => {
    publish(now);
    return ended;
  });
}

/** A pause's id and time as the validator uses them: they are as long as a real id and a real time. */
const UNNAMED = { id: '0'.repeat(36), at: new Date(0).toISOString() };

function isoNow(): string {
  return new Date(Date.now()).toISOString();
}

function takeGrants(held: Held): void {
  const publish = (now: GrantsState): void => {
    held.grants = now;
    upsertMemo({ [MEMO.grants]: memoOf(now) });
  };
  const giving = (message: RawValue) => addGrant(held.grants, readAs(message, GRANT), Date.now());
  const confirming = (message: RawValue) =>
    confirmGrant(held.grants, readAs(message, CONFIRMATION), Date.now());
  const revoking = (message: RawValue) => revokeGrants(held.grants, readAs(message, REVOCATION), Date.now());
  const claiming = (message: RawValue) => claimUse(held.grants, readAs(message, USE), Date.now());
  const failure = FAILURES.grant;
  take(held, { update: grantUpdate, failure }, giving, ({ state, grant }) => {
    publish(state);
    return grantSeen(grant);
  });
  // Votes and claims are not in the memo: each would be one more event, and no worker reads them there.
  take(held, { update: confirmUpdate, failure }, confirming, ({ state, grant }) => {
    held.grants = state;
    return grantSeen(grant);
  });
  take(held, { update: revokeUpdate, failure }, revoking, ({ state, revoked }) => {
    publish(state);
    return revoked;
  });
  take(held, { update: useUpdate, failure }, claiming, ({ state, taken }) => {
    held.grants = state;
    return taken;
  });
  setHandler(grantsQuery, () => seenOf(held.grants));
}

type Refused = PauseRefused | GrantRefused;

/** An update, and the type of the failure that refuses it. */
interface Taking<R> {
  update: UpdateDefinition<R, [RawValue]>;
  failure: string;
}

/**
 * Sets a handler that judges an update twice. The validator judges it, so that a refused update leaves nothing in
 * history. The handler judges it again, because another update of the same workflow task may have come first.
 */
function take<T extends object, R>(
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
interface Form<T> extends Bounds {
  fits(value: unknown): value is T;
  /** The type of the failure that refuses a message. */
  failure: string;
}

/** Reads a message that must have this form. @throws ApplicationFailure */
function readAs<T>(message: RawValue, form: Form<T>): T {
  const found = readMessage(message, form);
  if (!found.ok) throw refusalFailure({ code: 'malformed', message: found.message }, form.failure);
  if (form.fits(found.value)) return found.value;
  throw refusalFailure({ code: 'malformed', message: `this is not a ${form.what}` }, form.failure);
}

/**
 * The state that this run begins with. If this worker lacks the key of the input, the task waits for a worker that
 * has it.
 */
function heldIn(input: unknown): Held {
  const unreadable = whyUnreadable(input);
  if (unreadable !== undefined) throw new Error(`the input cannot be read: ${unreadable.why}`);
  const given = isObject(input) ? input : {};
  const pauses = readPauses(given['pauses']);
  const grants = readGrants(given['grants']);
  if (pauses !== undefined && grants !== undefined) return { pauses, grants, updates: 0 };
  throw misfit('this is not the input of the workflow that holds pauses and grants');
}

function read<S extends MessageSchema>(message: RawValue, schema: S, what: string): MessageOf<S> {
  const bounds: Bounds = { what, bytes: BYTES, fields: Object.keys(schema.properties) };
  const found = readMessage(message, bounds);
  if (!found.ok) throw refusalFailure({ code: 'malformed', message: found.message }, FAILURES.pause);
  const { value } = found;
  if (messageGuard(schema)(value)) return value;
  const issues = describeIssues(messageCheck(schema)(value));
  throw refusalFailure({ code: 'malformed', message: `not a ${what}: ${issues}` }, FAILURES.pause);
}

const BY_GRANTS = { failure: FAILURES.grant };
const GRANT = {
  what: 'grant',
  // The message contains all people who may confirm the grant.
  bytes: LIMITS.messageBytes,
  fields: GRANT_FIELDS.asked,
  fits: isGrantAsked,
  ...BY_GRANTS,
};
const CONFIRMATION = {
  what: 'confirmation of a grant',
  bytes: GRANT_BYTES,
  fields: GRANT_FIELDS.confirm,
  fits: isConfirmAsked,
  ...BY_GRANTS,
};
const REVOCATION = {
  what: 'revocation',
  bytes: BYTES,
  fields: GRANT_FIELDS.revoke,
  fits: isRevokeAsked,
  ...BY_GRANTS,
};
const USE = {
  what: 'use of a grant',
  bytes: BYTES,
  fields: GRANT_FIELDS.use,
  fits: isUseAsked,
  ...BY_GRANTS,
};
