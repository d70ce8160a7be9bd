/** What a request asks for. Paths are as the person wrote them. */
export type Intent =
  | { kind: 'list'; path: string; tree: boolean }
  | { kind: 'read'; paths: string[] }
  | { kind: 'info'; path: string }
  | SearchIntent
  | ReplaceIntent
  | { kind: 'create'; path: string; content: string; overwrite: boolean }
  | { kind: 'insert'; path: string; line: number; text: string }
  | { kind: 'delete'; paths: string[] }
  | { kind: 'move'; from: string; to: string }
  | { kind: 'run'; argv: string[] };

export interface SearchIntent {
  kind: 'search';
  query: string;
  /** A folder or a file; absent: everywhere. */
  path?: string;
}

export interface ReplaceIntent {
  kind: 'replace';
  from: string;
  to: string;
  /** Files that were named; absent: all files, under `under`. */
  paths?: string[];
  under?: string;
}

/** What the planner understands; shown when it does not. */
export const EXAMPLES: readonly string[] = [
  'list files in src, show tree',
  'read README.md, info about README.md',
  "search for 'colour' in src",
  "replace 'colour' with 'color' in all files",
  "replace 'colour' with 'color' in docs/guide.md",
  "create notes.txt with content 'hello', write 'hello' to notes.txt",
  "insert 'hello' at line 3 of notes.txt",
  'delete notes.txt',
  'move notes.txt to docs/notes.txt',
  'run npm test',
];
