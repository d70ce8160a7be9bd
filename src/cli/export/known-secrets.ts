import { isObject } from '../../contract/json';
import { REDACTED } from '../../tools/redact-text';

/** Secrets that were found by their names, to be taken out wherever else they stand: a tool may repeat its password. */
export interface KnownSecrets {
  /** Remembers what redaction took out of a value. */
  learn(before: unknown, after: unknown): void;
  /** The same value without them; ids and words that a replay reads stay. */
  hide(value: unknown): unknown;
  hideText(text: string): string;
}

/** Shorter ones stand in too many words. */
const LEAST_CHARS = 6;
const MOST_SECRETS = 1000;

/** What the workflow reads: a password that is called `approved` must not change a decision. */
const STRUCTURE: ReadonlySet<string> = new Set(
  (
    'agent callId callKey code contentType decision decisionId digest argsDigest contentDigest toolDigest door effect ' +
    'failureType finishReason id key kind order outcome replyId resolution safety safety_level server state status ' +
    'taskQueue timestamp tool type verdict'
  ).split(' '),
);
/** Below these everything is of the model, a tool or a person. */
const FREE: ReadonlySet<string> = new Set(['arguments', 'proposed', 'details']);

/** Knows none yet. */
export function createKnownSecrets(): KnownSecrets {
  const known = new Set<string>();
  const hideText = (text: string): string => {
    let rest = text;
    for (const secret of known) if (rest.includes(secret)) rest = rest.replaceAll(secret, REDACTED);
    return rest;
  };
  const hide = (value: unknown, isFree: boolean): unknown => {
    if (typeof value === 'string') return hideText(value);
    if (Array.isArray(value)) return value.map((item) => hide(item, isFree));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => {
        const isKept = !isFree && typeof item === 'string' && STRUCTURE.has(name);
        return [name, isKept ? item : hide(item, isFree || FREE.has(name))];
      }),
    );
  };
  return {
    learn: (before, after) => {
      for (const secret of taken(before, after)) if (known.size < MOST_SECRETS) known.add(secret);
    },
    hide: (value) => (known.size === 0 ? value : hide(value, false)),
    hideText,
  };
}

/** Texts that were taken out whole. */
function taken(before: unknown, after: unknown): string[] {
  if (isObject(before) && isObject(after))
    return Object.keys(before).flatMap((name) => taken(before[name], after[name]));
  if (Array.isArray(before) && Array.isArray(after))
    return before.flatMap((item, index) => taken(item, after[index]));
  return after === REDACTED ? texts(before) : [];
}

/** Also of an object that was taken out as a whole, such as `credentials`. */
function texts(value: unknown): string[] {
  if (typeof value === 'string') return value.trim().length >= LEAST_CHARS ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
}
