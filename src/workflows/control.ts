import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  setHandler,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import {
  addPause,
  type ControlInput,
  endPauses,
  PAUSE,
  type Pause,
  type PauseRefused,
  readPauses,
  RESUME,
} from '../contract/control/pauses';
import { isObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { FAILURES, MEMO } from '../contract/names';
import { describeIssues } from '../contract/read-json';
import { messageCheck, messageGuard } from '../contract/schema/message';
import type { MessageOf, MessageSchema } from '../contract/schema/message';
import { whyUnreadable } from '../contract/unreadable';
import { type Bounds, pauseUpdate, readMessage, resumeUpdate } from './messages';

/** Twice what the texts of one may have, written as JSON. */
const BYTES = 8 * 1024;

/**
 * Holds the pauses of a namespace. Its memo has them, so that whoever starts something learns of them by one question to the
 * server, with no worker of this workflow up. It never ends by itself: once it was seen and is closed, nothing with an
 * effect starts.
 */
export async function countersignControl(input?: ControlInput): Promise<void> {
  let pauses = pausesIn(input);
  let updates = 0;
  const publish = (now: Pause[]): void => {
    pauses = now;
    updates += 1;
    upsertMemo({ [MEMO.pauses]: now.length === 0 ? null : now });
  };
  const pausing = (message: RawValue) =>
    addPause(pauses, read(message, PAUSE, 'pause'), { id: uuid4(), at: new Date(Date.now()).toISOString() });
  const resuming = (message: RawValue) => endPauses(pauses, read(message, RESUME, 'resume'));
  setHandler(
    pauseUpdate,
    (message) => {
      const { pauses: now, taken } = takenOf(pausing(message));
      if (taken.already !== true) publish(now);
      return taken;
    },
    // An id is drawn only where the pause is taken: nothing is on record of what a validator draws.
    { validator: (message) => void takenOf(addPause(pauses, read(message, PAUSE, 'pause'), UNNAMED)) },
  );
  setHandler(
    resumeUpdate,
    (message) => {
      const { pauses: now, ended } = takenOf(resuming(message));
      publish(now);
      return ended;
    },
    { validator: (message) => void takenOf(resuming(message)) },
  );
  const isLong = (): boolean =>
    updates >= LIMITS.pauseUpdates || (updates > 0 && workflowInfo().continueAsNewSuggested);
  // Whoever cancels it would hold everything. That takes ending it by force.
  await CancellationScope.nonCancellable(() => condition(() => isLong() && allHandlersFinished()));
  const memo = pauses.length === 0 ? {} : { memo: { [MEMO.pauses]: pauses } };
  await makeContinueAsNewFunc<typeof countersignControl>(memo)({ pauses });
}

/** As long as an id and a time are. */
const UNNAMED = { id: '0'.repeat(36), at: new Date(0).toISOString() };

/** What a worker without the key cannot read, another one can: the task waits for it. */
function pausesIn(input: unknown): Pause[] {
  const unreadable = whyUnreadable(input);
  if (unreadable !== undefined) throw new Error(`the input cannot be read: ${unreadable.why}`);
  const pauses = readPauses(isObject(input) ? input['pauses'] : undefined);
  if (pauses !== undefined) return pauses;
  throw ApplicationFailure.nonRetryable('this is not the input of the workflow that holds pauses');
}

function read<S extends MessageSchema>(message: RawValue, schema: S, what: string): MessageOf<S> {
  const bounds: Bounds = { what, bytes: BYTES, fields: Object.keys(schema.properties) };
  const found = readMessage(message, bounds);
  if (!found.ok) throw refusal({ code: 'malformed', message: found.message });
  const { value } = found;
  if (messageGuard(schema)(value)) return value;
  const issues = describeIssues(messageCheck(schema)(value));
  throw refusal({ code: 'malformed', message: `not a ${what}: ${issues}` });
}

/** Checks again in the handler: another update of the same task may have come first. */
function takenOf<T extends object>(answer: T | PauseRefused): T {
  if (isRefused(answer)) throw refusal(answer);
  return answer;
}

function isRefused(answer: object): answer is PauseRefused {
  return 'code' in answer;
}

/** Thrown in the validator, it leaves nothing in history, and the sender gets the answer at once. */
function refusal(refused: PauseRefused): ApplicationFailure {
  return ApplicationFailure.create({
    type: FAILURES.pause,
    message: refused.message,
    nonRetryable: true,
    details: [refused],
  });
}
