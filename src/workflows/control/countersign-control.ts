import {
  allHandlersFinished,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  uuid4,
} from '@temporalio/workflow';
import {
  addPause,
  type ControlInput,
  endPauses,
  PAUSE,
  type Pause,
  type PauseTaken,
  readPauses,
  RESUME,
} from '../../authority/pauses/pause';
import { isObject } from '../../contract/json';
import { FAILURES, MEMO, UPDATES } from '../../contract/names';
import { describeIssues } from '../../contract/read-json';
import { guard, soundCheck } from '../../contract/schema/message';
import type { Fields, Shape } from '../../contract/schema/shape';
import { whyUnreadable } from '../../contract/unreadable';
import { misfit } from '../check-start';
import { type Form, readAs, take } from './take-message';

/** The most bytes of a message, as JSON: twice the most that its texts may have. */
const BYTES = 8 * 1024;

const failure = FAILURES.pause;
const PAUSING = formOf(PAUSE, 'pause');
const RESUMING = formOf(RESUME, 'resume');

/**
 * Holds the pauses of a namespace in its memo. A worker that starts a call reads them with one request to the server,
 * for which no worker of this workflow has to run. The workflow never ends by itself. After each change it continues as
 * new, so that no build has to repeat what another build did.
 */
export async function countersignControl(input?: ControlInput): Promise<void> {
  let pauses = pausesIn(input);
  let isChanged = false;
  const change = (now: Pause[]) => {
    pauses = now;
    isChanged = true;
  };
  take(
    { update: UPDATES.pause, failure },
    (message) => addPause(pauses, readAs(message, PAUSING), UNNAMED),
    ({ pauses: now, taken }): PauseTaken => {
      // The id is drawn here, because history does not record what a validator draws.
      const made = { id: uuid4(), at: new Date(Date.now()).toISOString() };
      const pause = taken.already === true ? taken.pause : { ...taken.pause, ...made };
      change(now.map((one) => (one === taken.pause ? pause : one)));
      return { ...taken, pause };
    },
  );
  take(
    { update: UPDATES.resume, failure },
    (message) => endPauses(pauses, readAs(message, RESUMING)),
    (judged) => {
      change(judged.pauses);
      return judged.ended;
    },
  );
  // A cancellation is ignored, because a closed workflow would hold all calls. So only terminating it closes the
  // workflow.
  await CancellationScope.nonCancellable(() => condition(() => isChanged && allHandlersFinished()));
  // Without this entry, the next run would have that of this run.
  const memo = { [MEMO.pauses]: pauses };
  await makeContinueAsNewFunc<typeof countersignControl>({ memo })({ pauses });
}

/** A pause's id and time as they are judged: they are as long as a real id and a real time. */
const UNNAMED = { id: '0'.repeat(36), at: new Date(0).toISOString() };

/**
 * The pauses that this run begins with. If this worker lacks the key of the input, the task waits for a worker that has
 * it.
 */
function pausesIn(input: unknown): Pause[] {
  const unreadable = whyUnreadable(input);
  if (unreadable !== undefined) throw new Error(`the input cannot be read: ${unreadable.why}`);
  const pauses = readPauses(isObject(input) ? input['pauses'] : undefined);
  if (pauses === undefined) throw misfit('this is not the input of the workflow that holds pauses');
  return pauses;
}

function formOf<T>(schema: Shape<T> & { properties: Fields }, what: string): Form<T> {
  const issuesOf = soundCheck(schema);
  return {
    what,
    bytes: BYTES,
    fields: Object.keys(schema.properties),
    failure,
    fits: guard(schema),
    issues: (value) => describeIssues(issuesOf(value)),
  };
}
