import { integer, list, nullable, object, type Of, oneOf, text } from './schema/shape';

const HUNK = object({
  /** `'1'`, `'2'` and so on, in file order. A decision names hunks by their ids. */
  id: text({ minLength: 1, maxLength: 1000 }),
  oldStart: integer(),
  oldLines: integer(),
  newStart: integer(),
  newLines: integer(),
  lines: list(text()),
});

/**
 * One hunk of a file plan. Its lines carry their unified-diff mark (' ', '-', '+' or '\\'). Line numbers count from 1.
 */
export interface Hunk extends Of<typeof HUNK> {}

/** The lines that a hunk changes, as a unified diff writes them: `@@ -1,2 +1,3 @@`. */
export function hunkRange({ oldStart, oldLines, newStart, newLines }: Hunk): string {
  return `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`;
}

/** For an empty range, a unified diff has the number of the line before it. */
function range(start: number, lines: number) {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

/** Whether a text is a unified diff. */
export function isDiffText(text: string): boolean {
  return /^@@ -\d/m.test(text);
}

const PLAN = object({
  /** Relative to the workspace root, with `/`. */
  path: text(),
  /**
   * SHA-256 (hex) of the file's bytes. Null when the file does not exist yet. For a command: a digest of the files that
   * it runs; `path` is then its folder.
   */
  baseHash: nullable(text()),
  /** SHA-256 (hex) of the bytes after all hunks. Empty for a command, and a call that moves or deletes the file. */
  targetHash: text(),
  /**
   * The encoding by which the bytes became the text of `lines`. `latin1` if the bytes are not UTF-8, so that no byte
   * is lost.
   */
  encoding: oneOf(['utf8', 'latin1', 'utf16le', 'utf16be']),
  /**
   * Empty for a command, and a call that moves or deletes the file. The plan then only binds the call to the bytes
   * that were shown.
   */
  hunks: list(HUNK),
});

/**
 * The change that a file tool will make to one file, bound to the bytes for which it was planned. Executing the plan on
 * a file whose hash is neither `baseHash` nor `targetHash` is a `conflict`.
 */
export interface FilePlan extends Of<typeof PLAN> {}

export const PREVIEW = object({ text: text() }, { plan: PLAN });

/** The preview for an approver: text (a command line, a unified diff) and, for file tools, the plan. */
export interface Preview extends Of<typeof PREVIEW> {}
