import { isObject } from '../json';

/** The text in place of a secret. */
export const REDACTED = '[redacted]';

/**
 * The shapes of secrets. Each pattern takes linear time: a repetition is bounded, or ends where the next match could
 * start, or may start only where a run of its characters starts. The order matters: whole headers first, `name=value`
 * last.
 */
const SHAPES: readonly [RegExp, string][] = [
  // The value of a header has spaces, so it ends at the end of its line or quotes.
  [/((?:authorization|cookie)["']?\s{0,4}[:=]\s{0,4}["']?)[^\r\n"'\\]+/gi, `$1${REDACTED}`],
  [/\b(Bearer\s{1,4})[\w.~+/=-]{8,}/gi, `$1${REDACTED}`],
  [/\b(Basic\s{1,4})[A-Za-z0-9+/=]{16,}/g, `$1${REDACTED}`],
  // `user:password@` and `token@` in a URL, up to the last @ before the path.
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

/**
 * Hides PEM blocks. It does not use a pattern, which would search for END once for each BEGIN. Without an END, the
 * whole remaining text is hidden.
 */
function redactKeys(text: string) {
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

/**
 * Text without secrets that are known word for word. Pass the longest secret first, because one secret may be a part of
 * another.
 */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
}

function next(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}

/** The most levels of a value. Deeper values are not shown at all. */
const MOST_LEVELS = 64;

/** Parts of names of secrets, compared without case and separators. */
const SECRET_NAME =
  /passw|passphrase|^pass$|^pwd|pwd$|secret|token|apikey|authorization|cookie|privatekey|accesskey|signingkey|encryptionkey|credential|bearer|^jwt$|^auth$|^otp$|^pin$/;

/** Names of counts, such as `max_tokens`. Their values are shown only if they are numbers. */
const COUNT_NAME = /tokens$|tokencount$|tokenlimit$/;

/** A flag of a command line whose next word is a secret. */
const SECRET_FLAG = /^--?(.+)$/;

/**
 * A copy of a value for logs, with `[redacted]` in place of its secrets. Secrets are found by name (`password`,
 * `apiKey`, `X-Auth-Token`, a `--token` before its value, at any depth) and by shape, also inside text. Takes linear
 * time. Never throws.
 *
 * It does not find every secret: a secret with a harmless name and without a known shape stays.
 */
export function redactSecrets(value: unknown): unknown {
  try {
    return redact(value, []);
  } catch {
    // A getter threw. Its value must not come into the log.
    return REDACTED;
  }
}

/** Whether a value with this name is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replace(/[^a-z0-9]/g, ''));
}

function redact(value: unknown, above: readonly object[]): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '[circular]';
  if (above.length >= MOST_LEVELS) return '[too deep]';
  const inside = [...above, value];
  if (Array.isArray(value))
    return value.map((item, index) => (followsFlag(value, index) ? REDACTED : redact(item, inside)));
  if (value instanceof Error) return redactText(`${value.name}: ${value.message}`);
  return isObject(value) ? redactObject(value, inside) : value;
}

function redactObject(value: Record<string, unknown>, inside: readonly object[]): unknown {
  // `fromEntries` defines keys and never assigns them, so `__proto__` is a key like any other.
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, hides(name, item) ? REDACTED : redact(item, inside)]),
  );
}

function hides(name: string, item: unknown) {
  if (item === null || item === undefined || typeof item === 'boolean' || !isSecretName(name)) return false;
  return typeof item !== 'number' || !COUNT_NAME.test(name.toLowerCase().replace(/[^a-z0-9]/g, ''));
}

function followsFlag(list: readonly unknown[], index: number) {
  const before = list[index - 1];
  const flag = typeof before === 'string' && before.length < 100 ? SECRET_FLAG.exec(before)?.[1] : undefined;
  return flag !== undefined && !flag.includes('=') && isSecretName(flag);
}
