import type { Verified } from '../../history/audit/verify';
import type { Written } from '../audit/audit-file';
import type { ExportProgress } from '../audit/export-runs';
import type { Redacted } from '../audit/redact-file';
import { count } from './numbers';
import type { Screen } from './screen';
import { factLines, type Cell } from './table';
import { visible } from './visible';

type Look = Pick<Screen, 'width' | 'style'>;

/** How far an export is, in one line. */
export function progressLine({ runs, done }: ExportProgress): string {
  return runs === 0 ? 'listing turns' : `read ${count(done)} of ${count(runs)} histories`;
}

/** What came of an export. */
export function exportLines(
  file: string,
  written: Written & { gone: number },
  { width, style }: Look,
): string[] {
  const { added, dropped, records, head, gone } = written;
  const what = added === 0 ? 'nothing new' : `${count(added)} new records`;
  const lost: [string, Cell][] =
    gone === 0
      ? []
      : [['deleted', { text: `${count(gone)} histories while they were listed`, paint: style.warn }]];
  const facts: [string, Cell][] = [
    ['records', { text: count(records) }],
    ['head', { text: `${head.n} ${head.hash}` }],
    ...(dropped === 0 ? [] : [droppedFact(dropped, style)]),
    ...lost,
  ];
  return [
    style.good(`${visible(file)}: ${what}, signed`),
    ...factLines(facts, { width, quiet: style.quiet }),
    ...(added === 0 ? [] : ['Keep the head where nobody who can change the file can change it too.']),
  ];
}

function droppedFact(dropped: number, style: Look['style']): [string, Cell] {
  const text = `${count(dropped)} records that nobody had signed; what history has of them is written again`;
  return ['cut off', { text, paint: style.warn }];
}

/** What is known of a file that is as it was written. */
export function verifyLines(
  file: string,
  verified: Verified & { pinned: boolean },
  { width, style }: Look,
): string[] {
  const { records, signed, redacted, head, key, namespace, pinned } = verified;
  const isSigned = signed === records && head !== undefined;
  const paint = isSigned ? style.good : style.warn;
  const facts: [string, Cell][] = [
    ['records', { text: `${count(records)}, of them signed: ${count(signed)}` }],
    ['taken out', { text: `${count(redacted)} values` }],
    ['namespace', { text: visible(namespace) }],
    ['key', { text: `${key} ${pinned ? '(the one you gave)' : '(named by the file itself)'}` }],
    ...(head === undefined
      ? []
      : [['head', { text: `${head.n} ${head.hash}, ${head.at}` }] satisfies [string, Cell]]),
  ];
  return [
    paint(`${visible(file)}: every record is as it was written`),
    ...factLines(facts, { width, quiet: style.quiet }),
    ...(pinned ? [] : ['Whoever writes the whole file anew can name a key too: pin yours with --key.']),
  ];
}

/** What came of taking values out. */
export function redactLines({ file, taken, redacted }: Redacted, { style }: Look): string[] {
  return [style.good(`${visible(file)}: took out ${count(taken)} values; ${count(redacted)} are out in all`)];
}
