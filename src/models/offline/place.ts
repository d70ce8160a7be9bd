import type { Phrase } from './phrase';

/** Words before a noun that mean nothing here. */
export const ARTICLES = ['the', 'a', 'an', 'me', 'all', 'every', 'each', 'of'] as const;

/** Words that mean the whole workspace, or only name what kind of place follows. */
const PLACES = [
  'workspace',
  'project',
  'root',
  'here',
  'everywhere',
  'files',
  'directory',
  'folder',
  'file',
] as const;

/** A directory after optional words such as `in the folder`; `.` where none is named, undefined where it is no place. */
export function placeOf(words: Phrase): string | undefined {
  const path = words.without('in', 'under', 'inside', 'from', ...PLACES, ...ARTICLES);
  return path.length === 0 ? '.' : path.path();
}

/** Where to replace: the files named, or every file under a directory. */
export type Where = { paths: string[] } | { under: string } | { all: true };

/** Reads `in a.txt and b.txt`, `in files under src`, `in src/`, `everywhere`; undefined where it is no place. */
export function whereOf(words: Phrase): Where | undefined {
  const named = words.without('in', 'under', 'inside', ...ARTICLES);
  const noun = named.keyword(0) ?? '';
  const isFiles = noun === 'files' || noun === 'file';
  const isBelow = isFiles && ['in', 'under', 'inside', 'of'].includes(named.keyword(1) ?? '');
  if (isFiles && named.length > 1 && !isBelow) return files(named.slice(1));
  const place = placeOf(words);
  if (place === '.') return { all: true };
  const isDirectory = isBelow || words.keyword(0) === 'under' || noun === 'directory' || noun === 'folder';
  if (place !== undefined && (isDirectory || place.endsWith('/'))) return { under: place };
  return files(named);
}

function files(words: Phrase): Where | undefined {
  const paths = words.paths();
  return paths === undefined ? undefined : { paths };
}
