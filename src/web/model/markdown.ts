/** A block of words with a little Markdown. Links and pictures stay the characters that they are. */
export type Block =
  { kind: 'text'; spans: Span[] } | { kind: 'list'; items: Span[][] } | { kind: 'code'; text: string };

/** Some words of a line, and how they are shown. */
export interface Span {
  look: 'plain' | 'bold' | 'code';
  text: string;
}

const FENCE = /^\s*```/;
const ITEM = /^\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)/;

/** Reads bold words, lists and code. Everything else is text. No character of the words is lost but those marks. */
export function readMarkdown(words: string): Block[] {
  const blocks: Block[] = [];
  const lines = words.split('\n');
  let text: string[] = [];
  const close = () => {
    if (text.length > 0) blocks.push({ kind: 'text', spans: spansOf(text.join('\n')) });
    text = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const end = FENCE.test(line) ? lines.findIndex((one, index) => index > at && FENCE.test(one)) : -1;
    if (end > at) {
      close();
      blocks.push({ kind: 'code', text: lines.slice(at + 1, end).join('\n') });
      at = end;
    } else if (ITEM.test(line)) {
      close();
      const items: Span[][] = [];
      for (; ITEM.test(lines[at] ?? ''); at++) items.push(spansOf(lines[at] ?? ''));
      blocks.push({ kind: 'list', items });
      at--;
    } else text.push(line);
  }
  close();
  return blocks;
}

const MARKED = /\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*|`([^`\n]+)`/g;

function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const found of line.matchAll(MARKED)) {
    const [whole, bold, code] = found;
    if (found.index > from) spans.push({ look: 'plain', text: line.slice(from, found.index) });
    spans.push(bold === undefined ? { look: 'code', text: code ?? '' } : { look: 'bold', text: bold });
    from = found.index + whole.length;
  }
  if (from < line.length) spans.push({ look: 'plain', text: line.slice(from) });
  return spans;
}
