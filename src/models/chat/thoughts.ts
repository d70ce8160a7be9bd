/**
 * The tags in which models write their thoughts into the text, each with what ends it. Servers take these out if they
 * know the model, and leave them in if they do not.
 */
const NAMES = 'think|thinking|reason|reasoning|thoughts?|antthinking|seed:think|mm:think';
const TAGS: readonly { opens: RegExp; closes: RegExp }[] = [
  {
    opens: new RegExp(`<(?:${NAMES})(?:\\s[^<>\\n]*)?>`, 'iy'),
    closes: new RegExp(`</(?:${NAMES})\\s*>`, 'i'),
  },
  { opens: /\[think(?:ing)?\]/iy, closes: /\[\/think(?:ing)?\]/i },
  { opens: /◁think▷/iy, closes: /◁\/think▷/i },
  { opens: /<\|begin_of_thought\|>/iy, closes: /<\|end_of_thought\|>/i },
  { opens: /<\|start_thinking\|>/iy, closes: /<\|end_thinking\|>/i },
  { opens: /<\|channel\|>analysis<\|message\|>/iy, closes: /<\|channel\|>final<\|message\|>/i },
  { opens: /<\|channel>thought/iy, closes: /<channel\|>/i },
  { opens: /<unused94>(?:thought)?/iy, closes: /<unused95>/i },
];

/** Where a tag may open: at the beginning of a line. */
const LINE = /^[ \t]*(?=[<[◁])/gm;

/** Characters with which a tag begins, and the most characters that the tag of an opening may have. */
const FIRST = /[<[◁]/;
const LONGEST = 64;

/** A text without the thoughts in it. */
interface SplitText {
  text: string;
  thoughts: string[];
  /** Whether the text ends inside a thought. */
  isOpen: boolean;
}

/**
 * Takes the thoughts out of a text. A tag counts at the beginning of a line, and not inside a code block, so that a text
 * about tags keeps them. Where only the closing tag is there, all before it is thought. A thought that never closes
 * counts as one only at the beginning.
 */
export function splitThoughts(whole: string): SplitText {
  if (!FIRST.test(whole)) return { text: whole, thoughts: [], isOpen: false };
  const thoughts: string[] = [];
  let rest = whole;
  let text = '';
  for (;;) {
    const opening = openingIn(rest);
    const bare = text.trim() === '' ? bareClosing(rest.slice(0, opening?.at)) : undefined;
    if (bare !== undefined) {
      thoughts.push(rest.slice(0, bare.at));
      rest = afterThought(rest.slice(bare.end));
      continue;
    }
    if (opening === undefined) return done(text + rest, thoughts, false);
    const before = rest.slice(0, opening.at);
    const inner = rest.slice(opening.end);
    const closing = opening.closes.exec(inner);
    const isFirst = (text + before).trim() === '';
    if (closing === null && isFirst) return done('', [...thoughts, inner], true);
    if (closing === null) return done(text + rest, thoughts, true);
    thoughts.push(inner.slice(0, closing.index));
    rest = afterThought(inner.slice(closing.index + closing[0].length));
    text += isFirst ? '' : before;
  }
}

function done(text: string, thoughts: readonly string[], isOpen: boolean): SplitText {
  return { text, thoughts: thoughts.map((one) => one.trim()).filter((one) => one !== ''), isOpen };
}

function afterThought(text: string) {
  return text.replace(/^\s+/, '');
}

function openingIn(text: string) {
  for (const { index, 0: indent } of text.matchAll(LINE)) {
    const at = index + indent.length;
    for (const { opens, closes } of TAGS) {
      opens.lastIndex = at;
      if (opens.test(text) && !isInFence(text.slice(0, index)))
        return { at: index, end: opens.lastIndex, closes };
    }
  }
  return undefined;
}

/** A closing tag before which no tag opened. Quoted or in a code block it is part of what the text says. */
function bareClosing(text: string) {
  for (const { closes } of TAGS) {
    const found = closes.exec(text);
    const before = text.slice(0, found?.index ?? 0);
    if (found !== null && !/["'`]$/.test(before) && !isInFence(before))
      return { at: found.index, end: found.index + found[0].length };
  }
  return undefined;
}

function isInFence(before: string) {
  return (before.match(/^[ \t]*```/gm) ?? []).length % 2 === 1;
}

/** The text of a reply as people may see it while it comes: without thoughts, and without what may be a tag. */
export class ShownText {
  private whole = '';
  private shown = '';
  private isOpen = false;

  /** Takes the next piece. Returns what can be shown now. */
  add(piece: string): string {
    this.whole += piece;
    if (this.isOpen && !/[>\]▷]/.test(piece)) return '';
    const recent = this.whole.slice(-LONGEST - piece.length);
    if (!this.isOpen && this.shown.length + piece.length === this.whole.length && !FIRST.test(recent))
      return this.show(this.whole);
    const { text, isOpen } = splitThoughts(this.whole);
    this.isOpen = isOpen;
    return isOpen ? '' : this.show(withoutTagStart(text));
  }

  /** The rest of the text, once all of it has come. */
  end(): string {
    return this.show(splitThoughts(this.whole).text);
  }

  private show(text: string) {
    if (!text.startsWith(this.shown)) return '';
    const more = text.slice(this.shown.length);
    this.shown = text;
    return more;
  }
}

/** A line that begins like a tag, a tag that has not ended, or the end of a line. */
const TAG_START = /\n[ \t]*(?:[<[◁][^\n]*)?$|<[^>\s]*$/;

/** The text without an end that may become a tag. */
function withoutTagStart(text: string) {
  const lines = `\n${text}`;
  const tail = lines.slice(-LONGEST);
  const start = tail.search(TAG_START);
  return start < 0 ? text : text.slice(0, Math.max(0, lines.length - tail.length + start - 1));
}
