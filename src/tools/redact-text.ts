/** What stands in place of a secret. */
export const REDACTED = '[redacted]';

/**
 * Shapes of secrets. Each takes linear time: what may repeat is bounded, or ends where the next match could start, or
 * may start only where a run of its characters starts. Order matters: whole headers first, `name=value` last.
 */
const SHAPES: readonly [RegExp, string][] = [
  // A header's value has spaces: it ends with its line or its quotes.
  [/((?:authorization|cookie)["']?\s{0,4}[:=]\s{0,4}["']?)[^\r\n"'\\]+/gi, `$1${REDACTED}`],
  [/\b(Bearer\s{1,4})[\w.~+/=-]{8,}/gi, `$1${REDACTED}`],
  [/\b(Basic\s{1,4})[A-Za-z0-9+/=]{16,}/g, `$1${REDACTED}`],
  // user:password@ and token@ of an URL; up to the last @ before the path.
  [/(:\/\/[^\s/:@"']*:)[^\s/"']+@/g, `$1${REDACTED}@`],
  [/(:\/\/)[^\s/:@"']{16,}@/g, `$1${REDACTED}@`],
  [/(?<![\w-])sk-[\w-]{16,}/g, REDACTED],
  [/(?<![\w-])[srp]k_(?:live|test)_\w{8,}/g, REDACTED],
  [/(?<!\w)gh[pousr]_\w{16,}/g, REDACTED],
  [/(?<!\w)github_pat_\w{16,}/g, REDACTED],
  [/(?<![\w-])glpat-[\w-]{16,}/g, REDACTED],
  [/(?<!\w)npm_[A-Za-z0-9]{20,}/g, REDACTED],
  [/(?<!\w)hf_[A-Za-z0-9]{20,}/g, REDACTED],
  [/(?<![A-Za-z0-9])A(?:KIA|SIA|ROA)[A-Z0-9]{16}/g, REDACTED],
  [/(?<![\w-])AIza[\w-]{30,}/g, REDACTED],
  [/(?<![\w-])xox[a-z]-[\w-]{10,}/g, REDACTED],
  // A JSON Web Token: its header and its claims start with {" in base64.
  [/(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]+)?/g, REDACTED],
  [
    /((?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|credential)[\w-]{0,40}(?:\\{0,4}["'])?\s{0,4}[=:]\s{0,4})(?:"(?:[^"\\]|\\[^])*"?|\\+"[^"]*"?|'[^']*'?|[^\s"'\\,;&})\]]+)/gi,
    `$1${REDACTED}`,
  ],
  [
    /(--?(?:passw(?:or)?d|passphrase|secret|token|api-?key|access-?key)[\w-]{0,40}\s{1,4})[^\s"'-][^\s"']*/gi,
    `$1${REDACTED}`,
  ],
];

const KEY_BEGINS = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY( BLOCK)?-----/g;
const KEY_ENDS = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY( BLOCK)?-----/g;

/** Text without secrets of a known shape. */
export function redactText(text: string): string {
  return SHAPES.reduce((rest, [shape, replacement]) => rest.replace(shape, replacement), redactKeys(text));
}

/** PEM blocks, by hand: a pattern from BEGIN to END would look for END once for each BEGIN. One without END hides the rest. */
function redactKeys(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (let begin = next(KEY_BEGINS, text, from); begin !== null; begin = next(KEY_BEGINS, text, from)) {
    kept.push(text.slice(from, begin.index), REDACTED);
    const end = next(KEY_ENDS, text, begin.index);
    if (end === null) return kept.join('');
    from = end.index + end[0].length;
  }
  return kept.length === 0 ? text : kept.join('') + text.slice(from);
}

function next(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}
