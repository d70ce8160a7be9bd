import { escapeHidden } from '../../contract/visible';
import { isObject, isSoundJson, type JsonObject } from '../../contract/json';
import type { Issue } from '../../contract/tool';
import { visible } from '../print/visible';

/** What is edited. */
export interface EditSubject {
  /** `<turn>/<call>`. */
  id: string;
  tool: string;
}

/** Arguments as text, and what was wrong with them at the last try. */
export interface Draft {
  body: string;
  issues: readonly Issue[];
}

/** What a person left in the file. */
export type Edited =
  | { outcome: 'arguments'; arguments: JsonObject; body: string }
  | { outcome: 'empty' }
  | { outcome: 'wrong'; draft: Draft };

/** The first draft: the arguments as they are. Nothing in it hides: what would not show is an escape of JSON. */
export function draftOf(args: JsonObject): Draft {
  return { body: `${escapeHidden(JSON.stringify(args, null, 2))}\n`, issues: [] };
}

/** The draft as a file: comments first, what is wrong among them, then the JSON. */
export function documentOf({ body, issues }: Draft, { id, tool }: EditSubject): string {
  const comments = [
    `Arguments of ${visible(tool)}, ${visible(id)}. Lines that start with // are left out.`,
    'Save and close to go on. To give up, leave the file as it is, or empty: nothing is decided then.',
    ...(issues.length === 0 ? [] : ['', 'This does not fit:', ...issues.map(issueLine)]),
  ];
  return `${comments.map((line) => `// ${line}`.trimEnd()).join('\n')}\n${body}`;
}

function issueLine({ path, message }: Issue): string {
  return `  ${visible(path) || '(all)'}: ${visible(message)}`;
}

/** Reads what a person left. JSON has no line that starts with `//`, so no argument can look like a comment. */
export function readDocument(text: string): Edited {
  const lines = text.split('\n').filter((line) => !/^\s*\/\//.test(line));
  const body = lines.join('\n');
  if (body.trim() === '') return { outcome: 'empty' };
  const wrong = (message: string): Edited => ({
    outcome: 'wrong',
    draft: { body, issues: [{ path: '', message }] },
  });
  const parsed = parse(body);
  if ('message' in parsed) return wrong(`this is no JSON: ${parsed.message}`);
  if (!isJsonObject(parsed.value)) return wrong('arguments are one object: { … }');
  if (!isSoundJson(parsed.value))
    return wrong('there is a number, a name or a depth in it that JSON cannot carry');
  return { outcome: 'arguments', arguments: parsed.value, body };
}

function parse(text: string): { value: unknown } | { message: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}
