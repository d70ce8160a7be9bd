import {
  cutContent,
  dropOutputs,
  resultEntry,
  type TranscriptCall,
  type TranscriptEntry,
  wordsEntry,
} from '../contract/transcript';
import {
  type ProposedCall,
  type Step,
  type Thinking,
  type TurnEvent,
  type TurnStarted,
  effectiveEvents,
} from './events';

/** The messages of a turn at some moment. */
export interface TranscriptAt {
  /** The messages as the turn holds them. The results of a step are among them once the step is over. */
  entries: TranscriptEntry[];
  /** The number of these entries that the model had read when it was last asked. */
  known: number;
}

/**
 * The messages after these events, rebuilt from the record. They are the same as the `transcript` query of a live turn
 * gives. The events must begin with the turn's first run, or with a run that names the messages that it took along.
 */
export function transcriptOf(events: Iterable<TurnEvent>): TranscriptAt {
  const reading: TranscriptState = { entries: [], known: 0, calls: [], contents: new Map() };
  for (const event of effectiveEvents([...events])) apply(reading, event);
  return { entries: reading.entries, known: reading.known };
}

interface TranscriptState extends TranscriptAt {
  /** Calls of the step that is not over yet, in the model's order. */
  calls: TranscriptCall[];
  /** Their results so far. */
  contents: Map<string, Parameters<typeof resultEntry>[1]>;
}

function apply(reading: TranscriptState, event: TurnEvent) {
  switch (event.type) {
    case 'turn_started':
      return start(reading, event);
    case 'forked':
      if (event.taken.length > 0) reading.entries = [...event.taken];
      reading.known = reading.entries.length;
      return;
    case 'thinking':
      endStep(reading);
      reading.entries = dropOutputs(
        [...cutStep(reading, event.cutTo), ...wordsOf(event)],
        event.droppedBefore ?? 0,
      );
      reading.known = reading.entries.length;
      return;
    case 'step':
      reading.entries.push(replyOf(event));
      reading.calls = event.calls.map(callOf);
      return;
    case 'call_ended':
      reading.contents.set(event.callId, event.result);
      return;
    case 'continued_as_new':
    case 'turn_ended':
      return endStep(reading);
  }
}

/** Takes the start of a run. A run that continues another run adds no message if the messages are there already. */
function start(reading: TranscriptState, { carried, continuedFrom, prompt, files }: TurnStarted) {
  if (carried !== undefined) {
    reading.entries = [...carried];
    reading.known = carried.length;
  } else if (continuedFrom === undefined) reading.entries = [wordsEntry({ text: prompt, files })];
}

/** Ends the step. Every call of the step has its result by now, except calls that were closed with their turn. */
function endStep(reading: TranscriptState) {
  for (const call of reading.calls) {
    const result = reading.contents.get(call.callId);
    if (result !== undefined) reading.entries.push(resultEntry(call, result));
  }
  reading.calls = [];
  reading.contents.clear();
}

/** The outputs since the last reply, cut as the turn cut them. */
function cutStep({ entries }: TranscriptState, cutTo: number | undefined): TranscriptEntry[] {
  if (cutTo === undefined) return entries;
  const reply = entries.findLastIndex((entry) => entry.kind === 'reply');
  return entries.map((entry, index) =>
    index > reply && entry.kind === 'result'
      ? { ...entry, content: cutContent(entry.content, cutTo) }
      : entry,
  );
}

function wordsOf({ words = [], files = [] }: Thinking): TranscriptEntry[] {
  return words.map((text, index) => wordsEntry({ text, files: files[index] }));
}

function replyOf({ replyId = '', text, calls, context }: Step): TranscriptEntry {
  return { kind: 'reply', replyId, text, calls: calls.map(callOf), context };
}

function callOf({ callId, id, tool, arguments: args, proposed, raw }: ProposedCall): TranscriptCall {
  return { callId, id, tool, arguments: proposed ?? args, raw };
}
