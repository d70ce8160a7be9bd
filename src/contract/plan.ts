/** One hunk of a file plan: lines carry their unified-diff mark (' ', '-', '+' or '\'). Starts count from 1. */
export interface Hunk {
  /** `'1'`, `'2'`, … in file order; a decision names hunks by it. */
  id: string;
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/**
 * What a file tool will do to one file, bound to the bytes it was planned on.
 * Executing it on a file whose hash is neither `baseHash` nor the target's is a `conflict`.
 */
export interface FilePlan {
  /** Relative to the workspace root, with `/`. */
  path: string;
  /** SHA-256 (hex) of the file's bytes; null when the file does not exist yet. */
  baseHash: string | null;
  /** SHA-256 (hex) of the bytes after all hunks; empty for a call that moves or deletes the file as it is. */
  targetHash: string;
  /** How bytes became the text of `lines`: `latin1` where they are not UTF-8, so that every byte survives. */
  encoding: 'utf8' | 'latin1';
  /** None for a call that moves or deletes the file: the plan then only binds it to the bytes that were shown. */
  hunks: Hunk[];
}

/** What an approver is shown: text (a command line, a unified diff) and, for file tools, the plan behind it. */
export interface Preview {
  text: string;
  plan?: FilePlan;
}
