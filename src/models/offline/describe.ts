import type { ToolErrorCode } from '../../contract/result';
import type { Outcome } from './outcome';
import type { PlannedCall } from './plan';

/** What is shown of one output; all of it is in the timeline. */
const SHOWN_CHARACTERS = 4000;
const CHANGE_CHARACTERS = 500;

const FAILURES: Partial<Record<ToolErrorCode, string>> = {
  denied: 'denied by a person',
  expired: 'nobody decided or started it in time',
  conflict: 'the file is not what was approved',
  refused: 'refused by policy',
  in_doubt: 'nobody knows whether it happened',
  cancelled: 'cancelled',
  timeout: 'it ran out of time',
};

/** What a call that only reads, or a command, gave back. */
export function describeRead(call: PlannedCall, outcome: Outcome | undefined): string {
  return describe(call, outcome, SHOWN_CHARACTERS);
}

/** What came of a call that changes something, in the tool's own words. */
export function describeChange(call: PlannedCall, outcome: Outcome | undefined): string {
  return describe(call, outcome, CHANGE_CHARACTERS);
}

function describe(call: PlannedCall, outcome: Outcome | undefined, characters: number): string {
  const name = nameOf(call);
  if (outcome === undefined) return `${name}: no result is known.`;
  const note = outcome.note === undefined ? '' : `\n  ${outcome.note.split('\n').join('\n  ')}`;
  if (outcome.failure !== undefined) {
    const why = FAILURES[outcome.failure] ?? outcome.failure;
    return `${name}: not done, ${why}.${note}\n${indent(cut(outcome.text, CHANGE_CHARACTERS))}`;
  }
  return `${name}: done.${note}\n${indent(cut(outcome.text, characters))}`.trimEnd();
}

/** Tool and what it was asked to work on, such as `delete_file a.txt`. */
export function nameOf({ tool, arguments: args }: PlannedCall): string {
  const { path, from, to, query, argv } = args;
  const words = [
    path ?? from,
    ...(to === undefined ? [] : ['to', to]),
    query,
    ...(Array.isArray(argv) ? argv : []),
  ];
  const target = words.filter((word) => typeof word === 'string').join(' ');
  return cut(target === '' ? tool : `${tool} ${target}`, 200);
}

/** The head of a text, with a mark where it was cut. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters)}… (${text.length - characters} characters more)`;
}

/** A text two blanks further in. */
export function indent(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}
