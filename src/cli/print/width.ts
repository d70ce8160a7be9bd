const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;
const NO_WIDTH = /^\p{M}$/u;
const STYLING = /\x1b\[[0-9;]*m/g;

/** Columns a text takes on a terminal; colours take none. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text.replace(STYLING, '')) width += widthOfChar(char);
  return width;
}

/** A text cut to some columns, with `…` where something is missing. Give it text without colours. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const char of text) {
    used += widthOfChar(char);
    if (used > width - 1) break;
    kept += char;
  }
  return `${kept}…`;
}

/** Lines of at most `width` columns, broken at spaces where there are any; no width below 10 is taken. */
export function wrap(text: string, width: number): string[] {
  const limit = Math.max(10, width);
  if (widthOf(text) <= limit) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((part) => pieces(part, limit))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && widthOf(longer) > limit) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

function widthOfChar(char: string): number {
  if (NO_WIDTH.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** A word that is longer than a line, in parts that are not. */
function pieces(word: string, limit: number): string[] {
  if (widthOf(word) <= limit) return [word];
  const parts: string[] = [];
  let part = '';
  for (const char of word) {
    if (widthOf(part + char) > limit) {
      parts.push(part);
      part = '';
    }
    part += char;
  }
  return [...parts, part];
}
