import { isNode, isScalar, LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';

/** A place in a file: the keys and positions that lead to it. */
export type YamlPath = readonly (string | number)[];

/** A mistake in a file. Lines and columns count from 1. */
export interface Mistake {
  line: number;
  column: number;
  message: string;
}

/**
 * Reports a mistake at a path. `into`: the number of characters between the beginning of a text and the mistake in it.
 */
export type Complain = (path: YamlPath, message: string, into?: number) => void;

/** The content of a file, and the position of each part in its text. */
export interface ReadYaml<T> {
  content: T;
  /**
   * A mistake at the position of a path, or of the nearest existing part around it. `into`: the number of characters
   * between the beginning of a text and the mistake in it.
   */
  mistakeAt(path: YamlPath, message: string, into?: number): Mistake;
}

const MOST_BYTES = 4 * 1024 * 1024;

/** Reads a file of YAML 1.2 that fits a schema. The meaning is checked later. */
export function readYaml<T>(
  text: string,
  schema: z.ZodType<T>,
): { ok: true; file: ReadYaml<T> } | { ok: false; mistakes: Mistake[] } {
  const lines = new LineCounter();
  if (Buffer.byteLength(text) > MOST_BYTES)
    return { ok: false, mistakes: [{ line: 1, column: 1, message: 'the file is over 4 MiB' }] };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const broken = [...document.errors, ...document.warnings].map(({ pos, message }) =>
    placed(lines, pos[0], message),
  );
  if (broken.length > 0) return { ok: false, mistakes: broken };
  const mistakeAt: ReadYaml<T>['mistakeAt'] = (path, message, into) =>
    placed(lines, offsetOf(document, path, into), message);
  const parsed = schema.safeParse(contentOf(document));
  if (parsed.success) return { ok: true, file: { content: parsed.data, mistakeAt } };
  const mistakes = parsed.error.issues.flatMap(schemaMistakes);
  return { ok: false, mistakes: mistakes.map(({ path, message }) => mistakeAt(path, message)) };
}

function contentOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    // The aliases expand without end, so nothing of the file is used.
    return null;
  }
}

function placed(lines: LineCounter, offset: number, message: string): Mistake {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col), message };
}

function offsetOf(document: Document, path: YamlPath, into = 0) {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (!isNode(node) || node.range == null) continue;
    const [start] = node.range;
    if (length < path.length || !isScalar(node)) return start;
    // The characters of a block stand on separate lines, so only the beginning of the block is certain.
    if (node.type === 'PLAIN') return start + into;
    return node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE' ? start + 1 + into : start;
  }
  return 0;
}

/** A mistake with its place, in the form that editors and terminals open. */
export function mistakeLine(file: string, { line, column, message }: Mistake): string {
  return `${file}:${line}:${column}: ${message}`;
}

const MOST_SHOWN = 20;

/** The first mistakes, one a line, and how many more there are. */
export function mistakeLines(mistakes: readonly string[]): string {
  const more = mistakes.length > MOST_SHOWN ? [`and ${mistakes.length - MOST_SHOWN} more`] : [];
  return [...mistakes.slice(0, MOST_SHOWN), ...more].join('\n');
}

/** A mistake of the schema in the words of the file, with its path. */
export function schemaMistakes(issue: z.core.$ZodIssue): { path: YamlPath; message: string }[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const what = path.length === 0 ? 'the file' : `\`${path.join('.')}\``;
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: [...path, key], message: `${what} has no field \`${key}\`` }));
  if (issue.code === 'invalid_key') return [{ path, message: `${what} ${issue.issues[0]?.message ?? ''}` }];
  const isMissing = issue.message.endsWith('received undefined');
  if (isMissing && 'expected' in issue && path.length > 0) return [{ path, message: `${what} is missing` }];
  const message = `${what} ${issue.message.replace(/^Invalid (input|option): /, 'is wrong: ')}`;
  return [{ path, message }];
}
