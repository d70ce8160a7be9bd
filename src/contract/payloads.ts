import { guard, soundCheck } from './schema/message';
import { flag, jsonObject, list, object, only, oneOf, text } from './schema/shape';
import { CARRIED_STATES, ANY_NAME } from './tool';
import { MOVED, type PrepareOutput, THINK_OUTPUT, type ThinkOutput } from './think';
import { isTranscriptEntry } from './transcript';
import { WORLDS } from './fork';
import { FILES } from './session/files';
import { isRaise, BUDGET } from './spending/budget';
import { CARRIED_SPENDING, WHOLE, SPENDING } from './spending/carried';
import { USAGE } from './spending/usage';
import { preparedCall, prepareOutput, LINEAGE, type CallBase, ORIGIN } from './call';
import { isPrepareOutput, OWN_TOOL, SPENT_IDS } from './call-payloads';
import { COUNTS, GIVEN_CALL, type TurnInput } from './turn';
import { isObject } from './json';

/** Schemas of fields that a turn may be started with, for input that comes from outside. */
const CHILD_INPUT = { lineage: LINEAGE, budget: BUDGET, cap: BUDGET, sessionSpending: SPENDING };

// The outputs of activities are read strictly. An operator may complete any activity with any value
// (`temporal activity complete`), and a value that later code cannot handle would stop the turn for good.

const isThinkOutput = guard(THINK_OUTPUT);
const isCall = guard(preparedCall(OWN_TOOL));
const isRaiseOutput = guard(prepareOutput(ANY_NAME));
/** Whether a value names the calls that led to a child turn. */
export const isLineage = guard(LINEAGE);

/** Reads a model's reply. Undefined if it cannot be read. */
export function readThinkOutput(value: unknown): ThinkOutput | undefined {
  if (!isThinkOutput(value)) return undefined;
  const { calls } = value;
  if (!calls.every((call) => isCall(call))) return undefined;
  return new Set(calls.map(({ callId }) => callId)).size === calls.length ? { ...value, calls } : undefined;
}

/** Reads a prepared call. Undefined if it cannot be read, or is another call. */
export function readPrepareOutput(value: unknown, of: Omit<CallBase, 'id'>): PrepareOutput | undefined {
  // A request for more budget has to be one still, and no other call may become one.
  const read = isRaise(of.tool) ? isRaiseOutput : isPrepareOutput;
  return read(value) && value.call.callId === of.callId && value.call.tool === of.tool ? value : undefined;
}

const WORDS = object({
  waiting: list(object({ messageId: text(), text: text() }, { files: FILES })),
  took: list(text()),
});
const HELD = { count: WHOLE, digest: text() };
const SESSION = object(
  { sessionId: ANY_NAME, runId: ANY_NAME, messageId: text(), ...HELD },
  { before: object(HELD) },
);
const WINDOW = object({}, { compactOver: WHOLE, tokens: WHOLE, shortened: only(true) });
const CARRIED = object(
  {
    step: WHOLE,
    transcript: list(jsonObject()),
    droppedBefore: WHOLE,
    results: list(object({ callId: text(), digest: text(), success: flag() })),
    spent: SPENT_IDS,
    counts: COUNTS,
    usage: USAGE,
    signalVerdicts: list(object({ callId: text(), verdict: text(), decisionId: text(), at: text() })),
  },
  { states: CARRIED_STATES, words: WORDS, moved: MOVED, window: WINDOW, ...CARRIED_SPENDING },
);
const FORK = object({ of: text(), from: text(), world: oneOf(WORLDS) }, { context: text() });

const issuesOf = soundCheck({
  type: 'object',
  properties: {
    agent: { type: 'string', minLength: 1 },
    prompt: { type: 'string' },
    files: FILES,
    origin: ORIGIN,
    carried: CARRIED,
    fork: FORK,
    call: GIVEN_CALL,
    ...CHILD_INPUT,
    session: SESSION,
    sessionStates: CARRIED_STATES,
  },
  required: ['agent', 'prompt'],
});

/** Whether a workflow was started with the input of a turn. Anybody may start a workflow with any input. */
export function isTurnInput(value: unknown): value is TurnInput {
  if (issuesOf(value).length > 0 || !isObject(value)) return false;
  const given = isObject(value['fork']) ? value['fork']['given'] : undefined;
  const { transcript, moved } = isObject(value['carried']) ? value['carried'] : {};
  const isReadable = given === undefined || readThinkOutput(given) !== undefined;
  if (!isReadable || (Array.isArray(transcript) && !transcript.every(isTranscriptEntry))) return false;
  return !isObject(moved) || fitsMoved(readThinkOutput(moved['reply']), transcript);
}

/** Whether a turn can take up a moved step: its reply has calls, and the last entry of the transcript is a reply. */
function fitsMoved(reply: ThinkOutput | undefined, transcript: unknown) {
  const last: unknown = Array.isArray(transcript) ? transcript.at(-1) : undefined;
  return reply !== undefined && reply.calls.length > 0 && isObject(last) && last['kind'] === 'reply';
}
