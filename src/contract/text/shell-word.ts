import { HIDDEN_CHARACTER, TURNING_CHARACTER } from './unsafe-text';

/**
 * A text of characters that need no quotes in any shell. It must not begin with `=`, because zsh looks up such a word.
 */
const PLAIN = /^(?!=)[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * A text as one word of a shell's command line. It can be pasted, and both bash and a person's eyes read exactly the
 * same text back. Characters that cannot be seen, or that turn the text around them, are written as numbers.
 */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  if (needsNumber(text)) return `$'${[...text].map(escapeCharacter).join('')}'`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Whether a text has characters that are written as numbers. Blanks other than the space count: they look like the
 * space that separates words.
 */
function needsNumber(text: string) {
  return HIDDEN_CHARACTER.test(text) || TURNING_CHARACTER.test(text) || /(?! )\p{Zs}/u.test(text);
}

function escapeCharacter(character: string) {
  switch (character) {
    case '\n':
      return '\\n';
    case '\r':
      return '\\r';
    case '\t':
      return '\\t';
    case "'":
    case '\\':
      return `\\${character}`;
    // An interactive shell expands `!` to a line of its history, and a quote inside the word misleads it there.
    case '!':
      return '\\x21';
  }
  if (!needsNumber(character)) return character;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
