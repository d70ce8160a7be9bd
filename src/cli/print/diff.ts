import type { FilePlan, Hunk, Preview } from '../../contract/plan';
import type { Style } from './style';
import { visible, visibleLine, visibleLines } from './visible';

/** A preview as lines: a change of a file as a unified diff whose hunks have numbers, anything else as its text. */
export function previewLines({ text, plan }: Preview, style: Style): string[] {
  if (plan !== undefined && plan.targetHash !== '') return planLines(plan, style);
  const lines = visibleLines(text.replace(/\n$/, ''), style.mark);
  return isDiff(text) ? lines.map((line) => paintDiff(line, style)) : lines;
}

/** A unified diff in text, coloured; blanks at the ends of changed lines are made visible. */
export function diffLines(text: string, style: Style): string[] {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => paintDiff(visibleLine(line, style.mark), style));
}

function planLines(plan: FilePlan, style: Style): string[] {
  const path = visible(plan.path, style.mark);
  return [
    style.strong(plan.baseHash === null ? '--- (new file)' : `--- ${path}`),
    style.strong(`+++ ${path}`),
    ...plan.hunks.flatMap((hunk) => hunkLines(hunk, style)),
    ...(plan.encoding === 'latin1' ? [style.quiet('(not UTF-8: one character a byte)')] : []),
  ];
}

/** One hunk with its number, coloured. */
export function hunkLines(hunk: Hunk, style: Style): string[] {
  const range = `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`;
  const head = `${style.link(range)} ${style.quiet(`hunk ${hunk.id}`)}`;
  const lines = hunk.lines.map((line) => visibleLine(line, style.mark));
  return [head, ...lines.map((line) => paintDiff(line, style))];
}

function paintDiff(line: string, style: Style): string {
  if (/^(---|\+\+\+)( |$)/.test(line)) return style.strong(line);
  if (line.startsWith('@@')) return style.link(line);
  if (line.startsWith('+')) return style.good(line);
  if (line.startsWith('-')) return style.bad(line);
  return line.startsWith('\\') ? style.quiet(line) : line;
}

function isDiff(text: string): boolean {
  return /^@@ -\d/m.test(text);
}
