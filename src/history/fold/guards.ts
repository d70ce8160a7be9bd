import { EFFECTS } from '../../contract/tool';
import { isTranscriptEntry, type TranscriptEntry } from '../../contract/transcript';
import { COUNTS, GIVEN_CALL, OPEN_MEMO } from '../../contract/turn';
import { RESULT_STATUSES } from '../../contract/turn-states';
import {
  text,
  number,
  list,
  object,
  anything,
  jsonObject,
  flag,
  type Of,
  type Shape,
  oneOf,
  both,
  json,
  record,
} from '../../contract/schema/shape';
import { guard } from '../../contract/schema/message';
import type { ThinkOutput } from '../../contract/think';
import { readThinkOutput } from '../../contract/payloads';
import { type ForkOrigin, WORLDS } from '../../contract/fork';
import { LINEAGE, CALL_PROGRESS } from '../../contract/call';
import { CALL_HEAD, RESULT } from '../../contract/result';
import { ACCEPTED, REFUSED_VERDICT, SIGNAL_VERDICT } from '../../contract/decision';
import { FILES } from '../../contract/session/files';
import { SPENT } from '../../contract/spending/budget';
import { USAGE } from '../../contract/spending/usage';
import { GRANT_USE } from '../../contract/policy-rule';

// What activities returned is read as the workflow reads it. Of inputs and memos, the fold reads only the fields that
// these shapes name: a history that somebody tampered with gives fewer events and never an exception.

const TEXT = text();
const NUMBER = number();
const TEXTS = list(TEXT);

const CARRIED = object(
  { transcript: list(anything()) },
  { step: NUMBER, droppedBefore: NUMBER, results: anything(), moved: object({ reply: jsonObject() }) },
);
const RESULTS = list(object({ callId: TEXT, digest: TEXT, success: flag() }, { text: TEXT }));
const isCarried = guard(CARRIED);
const areResults = guard(RESULTS);

/** The state that the run before handed over, as far as it is read. */
export interface CarriedState extends Pick<Of<typeof CARRIED>, 'step' | 'droppedBefore'> {
  transcript: TranscriptEntry[];
  results: Of<typeof RESULTS>;
  /** The reply of the step that was taken along. */
  moved?: ThinkOutput;
}

/** Reads the state that the run before handed over. Undefined: it cannot be read. */
export function readCarried(value: unknown): CarriedState | undefined {
  if (!isCarried(value)) return undefined;
  const { transcript, moved, results, ...rest } = value;
  if (!transcript.every(isTranscriptEntry)) return undefined;
  const reply = moved && readThinkOutput(moved.reply);
  if (moved !== undefined && reply === undefined) return undefined;
  return { ...rest, transcript, results: areResults(results) ? results : [], moved: reply };
}

const FORK_INPUT: Shape<ForkOrigin & { given?: unknown }> = object(
  { of: TEXT, from: TEXT, world: oneOf(WORLDS) },
  {
    changed: oneOf(['arguments', 'decision', 'reply']),
    model: TEXT,
    context: TEXT,
    lineage: LINEAGE,
    given: anything(),
  },
);

const THINK_INPUT = object(
  { step: NUMBER, results: RESULTS, droppedBefore: NUMBER },
  {
    agent: TEXT,
    cutTo: NUMBER,
    words: TEXTS,
    after: jsonObject(),
    origin: object({}, { others: TEXTS }),
    files: list(FILES),
  },
);

/** The input of `think`, as far as it is read. */
export interface ThinkRead extends Of<typeof THINK_INPUT> {}

/** The person who said something and the reason, as the note for the model quotes them. */
const EDIT = object({ approver: TEXT }, { reason: TEXT });
const CALL_INPUT = object(
  both(CALL_HEAD, {
    callKey: TEXT,
    generation: NUMBER,
    arguments: jsonObject(),
    effect: oneOf(EFFECTS),
  }),
  {
    decision: object(
      { decision: oneOf(['approved', 'modified']), decisionId: TEXT, approver: TEXT },
      { reason: TEXT, edit: EDIT, votes: list(object({ voter: TEXT })) },
    ),
    proposed: jsonObject(),
    grant: anything(),
    secret: TEXT,
  },
);

/** The input of a tool's activity, as far as it is read. */
export interface CallStart extends Of<typeof CALL_INPUT> {}

/** Guards over decoded payloads, one for each kind of value that history holds. */
export const is = {
  beat: guard(object({}, { progress: CALL_PROGRESS, partial: TEXT, text: TEXT, step: NUMBER })),
  turnInput: guard(
    object(
      { agent: TEXT, prompt: TEXT },
      {
        files: FILES,
        session: object({ sessionId: TEXT, messageId: TEXT }),
        carried: anything(),
        fork: anything(),
        call: anything(),
        sessionStates: anything(),
      },
    ),
  ),
  turnResult: guard(
    object(
      { status: oneOf(RESULT_STATUSES), answer: TEXT },
      {
        why: TEXT,
        spent: SPENT,
        value: json(),
        steps: NUMBER,
        counts: COUNTS,
        usage: USAGE,
        others: TEXTS,
        conversation: anything(),
        result: RESULT,
      },
    ),
  ),
  thinkInput: guard(THINK_INPUT),
  forkInput: guard(FORK_INPUT),
  givenCall: guard(GIVEN_CALL),
  grantBeat: guard(object({ grant: GRANT_USE })),
  callInput: guard(CALL_INPUT),
  outcome: guard(object({ callKey: TEXT, generation: NUMBER, secret: TEXT, result: RESULT })),
  closedMemo: guard(record(TEXTS)),
  openMemo: guard(OPEN_MEMO),
  verdicts: guard(list(SIGNAL_VERDICT)),
  accepted: guard(ACCEPTED),
  refused: guard(REFUSED_VERDICT),
} as const;
