import { CountersignError } from '../contract/errors';
import type { ForkOrigin } from '../contract/fork';
import { LIMITS } from '../contract/limits';
import { DROPPED_OUTPUT, dropOutputs, utf8Bytes } from '../contract/transcript';
import type { TurnInput } from '../contract/turn';
import { givenStep, type Now } from './fork/given';
import { findPoint, type Point } from './fork/point';
import type { TurnRecord } from './fork/record';
import type { ForkRequest } from './fork/request';
import { transcriptOf } from './transcript';

export { recordOf, type TurnRecord } from './fork/record';
export type { ForkChange, ForkRequest, GivenReply } from './fork/request';

/**
 * What a fork is started with: everything before the point from the record, and from there on what is to be otherwise.
 * Nothing that happened is in it to be executed again; decisions are never carried over.
 *
 * @throws CountersignError `call_not_found`; `fork_refused` for a step that still runs, arguments that do not fit, a
 * decision on a call that asks nobody, or a record that is too large.
 */
export function planFork(record: TurnRecord, request: ForkRequest, now: Now): TurnInput {
  const point = findPoint(record, request.at);
  const given = givenStep({ record, point, request, ...now });
  const carried = carriedTo(record, point);
  const input: TurnInput = {
    agent: record.agent,
    prompt: carried.transcript.length === 0 ? record.prompt : '',
    carried,
    fork: { ...originOf(record, request), ...(given === undefined ? {} : { given }) },
  };
  return fitInput(input);
}

function originOf({ turn }: TurnRecord, { at, world = 'dry', change, model }: ForkRequest): ForkOrigin {
  return {
    of: turn,
    from: at,
    world,
    ...(change === undefined ? {} : { changed: change.what }),
    ...(model === undefined ? {} : { model }),
  };
}

type Carried = NonNullable<TurnInput['carried']>;

/** What the model was asked with for this step. Counts and tokens begin anew: they are of what the fork itself does. */
function carriedTo(record: TurnRecord, { step }: Point): Carried {
  const { entries } = transcriptOf(record.events.slice(0, step.at));
  // The words of the first step come with the prompt.
  const transcript = entries.some(({ kind }) => kind === 'reply') ? entries : [];
  return {
    step: step.step - 1,
    transcript: dropOutputs(transcript, step.droppedBefore),
    droppedBefore: step.droppedBefore,
    // Their texts are in the transcript already.
    results: step.results.map(({ text: _text, ...ref }) => ref),
    spent: [],
    counts: { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 },
    usage: {},
    signalVerdicts: [],
  };
}

/** Drops the oldest outputs as far as needed: a payload over the server's limit would not start. */
function fitInput(input: TurnInput): TurnInput {
  const { carried } = input;
  let excess = utf8Bytes(JSON.stringify(input)) - LIMITS.forkInputBytes;
  if (excess <= 0 || carried === undefined) return input;
  let droppedBefore = carried.droppedBefore;
  for (const entry of carried.transcript.slice(droppedBefore)) {
    if (excess <= 0) break;
    if (entry.kind === 'result') excess -= utf8Bytes(JSON.stringify(entry.content)) - DROPPED_OUTPUT.length;
    droppedBefore += 1;
  }
  if (excess > 0) throw tooLarge();
  const transcript = dropOutputs(carried.transcript, droppedBefore);
  return { ...input, carried: { ...carried, transcript, droppedBefore } };
}

function tooLarge(): CountersignError {
  return new CountersignError(
    'fork_refused',
    `the record up to this point is over ${LIMITS.forkInputBytes} bytes, even without old outputs`,
    { hint: 'Fork at an earlier call.' },
  );
}
