/** Characters that need no quotes in any shell. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** What a person cannot see, or not tell from something else: control, format and blank characters, half characters. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}|[\u034f\u115f\u1160\u3164\ufe00-\ufe0f\uffa0]/u;

/**
 * An argv as one line that reads back to exactly the same words, in a person's eyes and in bash. Characters that cannot
 * be seen are written as their numbers.
 */
export function quoteCommand(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ');
}

function quoteWord(word: string): string {
  if (PLAIN.test(word)) return word;
  if (HIDDEN.test(word)) return `$'${[...word].map(escapeCharacter).join('')}'`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ["'", "\\'"],
  ['\\', '\\\\'],
]);

function escapeCharacter(character: string): string {
  const short = SHORT.get(character);
  if (short !== undefined) return short;
  if (!HIDDEN.test(character)) return character;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
