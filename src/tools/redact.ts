import { isObject } from '../contract/json';
import { REDACTED, redactText } from './redact-text';

/** Deeper values are not shown at all. */
const MOST_LEVELS = 64;

/** Parts of names that hold a secret, once case and separators are gone. */
const SECRET_NAME =
  /passw|passphrase|^pass$|^pwd|pwd$|secret|token|apikey|authorization|cookie|privatekey|accesskey|signingkey|encryptionkey|credential|bearer|^jwt$|^auth$|^otp$|^pin$/;

/** Names of counts, such as `max_tokens`: of their values only numbers are shown. */
const COUNT_NAME = /tokens$|tokencount$|tokenlimit$/;

/** A flag of a command line whose next word is a secret. */
const SECRET_FLAG = /^--?(.+)$/;

/**
 * A copy of a value for logs, its secrets replaced by `[redacted]`: by name (`password`, `apiKey`, `X-Auth-Token`, a
 * `--token` in front of its value, at any depth) and by shape, also inside text. In linear time. Never throws.
 *
 * It is a net, not a proof: a secret under an innocent name and without a known shape passes through.
 */
export function redactSecrets(value: unknown): unknown {
  try {
    return redact(value, []);
  } catch {
    // A getter that throws: whatever it hides is not for the log.
    return REDACTED;
  }
}

/** Whether something of this name is a secret. */
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
  // fromEntries defines keys and never sets them, so that `__proto__` is a key like any other.
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, hides(name, item) ? REDACTED : redact(item, inside)]),
  );
}

function hides(name: string, item: unknown): boolean {
  if (item === null || item === undefined || typeof item === 'boolean' || !isSecretName(name)) return false;
  return typeof item !== 'number' || !COUNT_NAME.test(name.toLowerCase().replace(/[^a-z0-9]/g, ''));
}

function followsFlag(list: readonly unknown[], index: number): boolean {
  const before = list[index - 1];
  const flag = typeof before === 'string' && before.length < 100 ? SECRET_FLAG.exec(before)?.[1] : undefined;
  return flag !== undefined && !flag.includes('=') && isSecretName(flag);
}
