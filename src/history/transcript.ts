import { dropOutputs, resultEntry, type TranscriptCall, type TranscriptEntry } from '../contract/transcript';
import type { ProposedCall, Step, TurnEvent, TurnStarted } from './events';
import { standingEvents } from './standing';

/** The messages of a turn at some moment. */
export interface TranscriptAt {
  /** As the turn holds them. Results of a step are among them once the step is over. */
  entries: TranscriptEntry[];
  /** How many of them the model had read when it was last asked: what it knew. */
  known: number;
}

/**
 * The messages after these events, rebuilt from the record: the same that the `transcript` query of a live turn gives.
 * It needs the events from the turn's first run on, or from a run that tells what it took along.
 */
export function transcriptOf(events: Iterable<TurnEvent>): TranscriptAt {
  const told: Told = { entries: [], known: 0, calls: [], contents: new Map() };
  for (const event of standingEvents([...events])) tell(told, event);
  return { entries: told.entries, known: told.known };
}

interface Told extends TranscriptAt {
  /** Calls of the step that is not over yet, in the model's order. */
  calls: TranscriptCall[];
  /** Their results so far. */
  contents: Map<string, { content: string; success: boolean }>;
}

function tell(told: Told, event: TurnEvent): void {
  switch (event.type) {
    case 'turn_started':
      return start(told, event);
    case 'forked':
      if (event.taken.length > 0) told.entries = [...event.taken];
      told.known = told.entries.length;
      return;
    case 'thinking':
      endStep(told);
      told.entries = dropOutputs(told.entries, event.droppedBefore ?? 0);
      told.known = told.entries.length;
      return;
    case 'step':
      told.entries.push(replyOf(event));
      told.calls = event.calls.map(callOf);
      return;
    case 'call_ended':
      told.contents.set(event.callId, event.result);
      return;
    case 'continued_as_new':
    case 'turn_ended':
      return endStep(told);
  }
}

/** A run that continues another one repeats nothing that is there. */
function start(told: Told, { carried, continuedFrom, prompt }: TurnStarted): void {
  if (carried !== undefined) {
    told.entries = [...carried];
    told.known = carried.length;
  } else if (continuedFrom === undefined) told.entries = [{ kind: 'words', text: prompt }];
}

/** Every call of the step has its result by now; one that has none was closed with its turn. */
function endStep(told: Told): void {
  for (const call of told.calls) {
    const result = told.contents.get(call.callId);
    if (result !== undefined) told.entries.push(resultEntry(call, result));
  }
  told.calls = [];
  told.contents.clear();
}

function replyOf({ replyId = '', text, calls }: Step): TranscriptEntry {
  return { kind: 'reply', replyId, text, calls: calls.map(callOf) };
}

function callOf({ callId, id, tool, arguments: args, proposed, raw }: ProposedCall): TranscriptCall {
  return { callId, id, tool, arguments: proposed ?? args, ...(raw === undefined ? {} : { raw }) };
}
