import { HIDDEN_CHARACTER, TURNING_CHARACTER } from './unsafe-text';

/** Characters that need no quotes in any shell; zsh looks up a word that begins with `=`. */
const PLAIN = /^(?!=)[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * A text as one word of a shell's command line that reads back to exactly the same, in a person's eyes and in bash, and
 * can be pasted. Characters that cannot be seen, or turn what is around them, are written as their numbers.
 */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  if (needsNumber(text)) return `$'${[...text].map(escapeCharacter).join('')}'`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Whether a text has characters to write as numbers. Other blanks count: they look like the one that separates words.
 */
function needsNumber(text: string): boolean {
  return HIDDEN_CHARACTER.test(text) || TURNING_CHARACTER.test(text) || /(?! )\p{Zs}/u.test(text);
}

function escapeCharacter(character: string): string {
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
    // An interactive shell reads `!` as a line of its history, where a quote inside the word misleads it.
    case '!':
      return '\\x21';
  }
  if (!needsNumber(character)) return character;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
