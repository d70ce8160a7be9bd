import { TOOL_ERROR_CODES, type ToolErrorCode } from '../../contract/result';
import { DROPPED_OUTPUT } from '../../contract/transcript';
import type { ModelMessage } from '../model';

/** One call of an earlier step and what came of it. */
export interface Outcome {
  tool: string;
  /** What the tool said, or why it failed; without the note. */
  text: string;
  /** Absent: it did what it should. */
  failure?: ToolErrorCode;
  /** What a person said to it or changed. */
  note?: string;
  /** Whether its output gave way to the transcript's limit. */
  dropped: boolean;
}

/** What the transcript says of one step: the results in the order of the calls. */
export type Round = readonly Outcome[];

/** The words that are worked on: the last ones of a person, and the steps since. */
export function sinceLastWords(messages: readonly ModelMessage[]): { words: string; rounds: Round[] } {
  const start = messages.findLastIndex(({ role }) => role === 'user');
  const words = messages[start];
  const rounds: Outcome[][] = [];
  for (const message of messages.slice(start + 1)) {
    if (message.role === 'assistant') rounds.push([]);
    else if (message.role === 'tool') rounds.at(-1)?.push(toOutcome(message.toolName, message.content));
  }
  return { words: words?.content ?? '', rounds };
}

/** How a person's note begins; it is followed by an empty line and the result. */
const NOTE = /^\[[^\n]{1,5000}? (?:changed the arguments of this call before it ran|approved this call)\./;
const ERROR = /^Error \[([a-z_]{1,30})\]: /;

function toOutcome(tool: string, content: string): Outcome {
  const end = NOTE.test(content) ? content.indexOf(']\n\n') : -1;
  const note = end === -1 ? {} : { note: content.slice(1, end) };
  const text = end === -1 ? content : content.slice(end + 3);
  const code = ERROR.exec(text)?.[1];
  const failure = TOOL_ERROR_CODES.find((known) => known === code);
  const dropped = content === DROPPED_OUTPUT;
  if (failure === undefined) return { tool, text, ...note, dropped };
  return { tool, text: text.slice(`Error [${failure}]: `.length), failure, ...note, dropped };
}
