import { type FilePlan, type Hunk, hunkRange, isDiffText, type Preview } from '../contract/plan';
import { escapeText, escapeDiffLine, escapeLines, type Paint } from '../contract/text/escape';
import { wrapAll } from '../contract/text/columns';

/** How the parts of a diff are painted. */
export interface DiffStyle {
  strong: Paint;
  quiet: Paint;
  good: Paint;
  bad: Paint;
  /** A place to go to, or a command to type. */
  link: Paint;
  /** A mark that stands for an invisible character. */
  mark: Paint;
}

/**
 * A preview as lines: a change of a file as a unified diff whose hunks have numbers, anything else as its text. Empty
 * without a preview.
 */
export function previewLines(preview: Preview | undefined, style: DiffStyle, width = Infinity): string[] {
  if (preview === undefined) return [];
  const { text, plan } = preview;
  if (plan !== undefined && plan.targetHash !== '')
    return [...planHead(plan, style), ...plan.hunks.flatMap((hunk) => hunkLines(hunk, style))];
  const lines = escapeLines(text.replace(/\n$/, ''), style.mark);
  return isDiffText(text) ? lines.map((line) => paintDiff(line, style)) : wrapAll(lines, width);
}

/** A unified diff in text, coloured; blanks at the ends of changed lines are made visible. */
export function diffLines(text: string, style: DiffStyle): string[] {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => paintDiff(escapeDiffLine(line, style.mark), style));
}

/** The lines that name the file that a plan changes. */
export function planHead({ path, baseHash, encoding }: FilePlan, style: DiffStyle): string[] {
  const name = escapeText(path, style.mark);
  return [
    ...(encoding === 'latin1' ? [style.quiet('(not UTF-8: one character a byte)')] : []),
    ...(encoding.startsWith('utf16') ? [style.quiet('(UTF-16)')] : []),
    style.strong(baseHash === null ? '--- (new file)' : `--- ${name}`),
    style.strong(`+++ ${name}`),
  ];
}

/** One hunk with its number, coloured. */
export function hunkLines(hunk: Hunk, style: DiffStyle): string[] {
  const head = `${style.link(hunkRange(hunk))} ${style.quiet(`hunk ${escapeText(hunk.id)}`)}`;
  const lines = hunk.lines.map((line) => escapeDiffLine(line, style.mark));
  return [head, ...lines.map((line) => paintDiff(line, style))];
}

function paintDiff(line: string, style: DiffStyle) {
  if (/^(---|\+\+\+)( |$)/.test(line)) return style.strong(line);
  if (line.startsWith('@@')) return style.link(line);
  if (line.startsWith('+')) return style.good(line);
  if (line.startsWith('-')) return style.bad(line);
  return line.startsWith('\\') ? style.quiet(line) : line;
}
