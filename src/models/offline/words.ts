/** One word of a request, or a line break (`text` is then `'\n'` and `quoted` false). */
export interface Word {
  /** Without its quotes. */
  text: string;
  quoted: boolean;
  /** In straight double quotes, which may hold `\n`. */
  isDouble?: boolean;
  /** Where it lies in the source, quotes included. */
  start: number;
  end: number;
}

const CLOSING: Readonly<Record<string, string>> = {
  "'": "'",
  '"': '"',
  '`': '`',
  '“': '”',
  '‘': '’',
  '«': '»',
};
const SPACE = /\s/;

/**
 * Splits a request into words. Quotes open at the start of a word and close before a blank, punctuation or the end, so that
 * `don't` is one word; a quote that never closes is an ordinary character. Takes time linear in the length.
 */
export function toWords(source: string): Word[] {
  const lastClose = lastCloses(source);
  const words: Word[] = [];
  for (let at = 0; at < source.length;) {
    const word = breakAt(source, at) ?? quotedAt(source, at, lastClose) ?? plainAt(source, at);
    if (word.text !== '' || word.quoted) words.push(word);
    at = word.end;
  }
  return words;
}

function breakAt(source: string, start: number): Word | undefined {
  const char = source.charAt(start);
  if (!SPACE.test(char)) return undefined;
  return { text: char === '\n' ? '\n' : '', quoted: false, start, end: start + 1 };
}

function quotedAt(source: string, start: number, lastClose: ReadonlyMap<string, number>): Word | undefined {
  const close = CLOSING[source.charAt(start)];
  // Without this check a request of nothing but opening quotes would take quadratic time.
  if (close === undefined || (lastClose.get(close) ?? -1) <= start) return undefined;
  let end = start + 1;
  while (!closesAt(source, end, close)) end++;
  return { text: source.slice(start + 1, end), quoted: true, isDouble: close === '"', start, end: end + 1 };
}

function plainAt(source: string, start: number): Word {
  let end = start + 1;
  while (end < source.length && !SPACE.test(source.charAt(end))) end++;
  return { text: source.slice(start, end), quoted: false, start, end };
}

function lastCloses(source: string): Map<string, number> {
  const last = new Map<string, number>();
  for (let at = 1; at < source.length; at++) {
    const char = source.charAt(at);
    if (closesAt(source, at, char)) last.set(char, at);
  }
  return last;
}

function closesAt(source: string, at: number, close: string): boolean {
  return source.charAt(at) === close && /^[\s.,;:!?)]?$/.test(source.charAt(at + 1));
}
