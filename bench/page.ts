import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The pages that figures are written into. */
export const DOCS = join(__dirname, '..', 'docs', 'background');

/** The lines between two marks of a page, without the empty ones around them. */
export function readPart(page: string, marks: { start: string; end: string }): string[] {
  const [, rest = ''] = readFileSync(page, 'utf8').split(marks.start);
  const [part = ''] = rest.split(marks.end);
  return part.trim().split('\n');
}

/** Puts lines between two marks of a page; the words around them stay. */
export function writePart(
  page: string,
  marks: { start: string; end: string },
  lines: readonly string[],
): void {
  const text = readFileSync(page, 'utf8');
  const [before = '', rest = ''] = text.split(marks.start);
  const [, after = ''] = rest.split(marks.end);
  writeFileSync(page, `${before}${marks.start}\n\n${lines.join('\n')}\n\n${marks.end}${after}`);
}
