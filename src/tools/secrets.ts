import { errorMessage } from '../contract/errors';
import { hideSecrets, REDACTED } from '../contract/text/redact';
import { ToolError } from './errors';
import { unlessAborted } from './within';

/** Where secrets come from, by name: a vault, a file, the environment. Called for each `secrets.get`, so keep what is slow to get. */
export type SecretProvider = (name: string) => string | undefined | Promise<string | undefined>;

/** Secrets of one worker, or of one executor: hands them out, and takes what was handed out from any text. */
export interface Secrets {
  /**
   * @throws ToolError that names the secret and nothing of its provider's: the model reads it. Retryable where the provider
   * failed or took too long; the signal's reason after that has aborted.
   */
  get(name: string, signal: AbortSignal): Promise<string>;
  /** A secret that came another way; one of fewer than 8 characters is not redacted. */
  keep(value: string): void;
  /** The same for one that is in use as long as the worker runs: newer ones do not take its place. */
  pin(value: string): void;
  /** The text without any secret that was handed out, in whatever form. */
  hide(text: string): string;
  /** `hide` for text that comes in pieces, which may end in the middle of a secret. */
  hideStream(): HidingStream;
}

/** Takes pieces of a text. What may be the start of a secret is held back until it is known. */
export interface HidingStream {
  /** The part of the text that is known by now. */
  add(piece: string): string;
  /** What is held back, as it may be shown if nothing follows. */
  rest(): string;
}

/** Shorter ones stand in any text by chance. */
export const LEAST_CHARACTERS = 8;

/** The newest that are kept: providers that make a new token for each call would fill the memory. */
const MOST_KEPT = 200;

/** A provider that hangs must not use up the time of its call. */
const PROVIDER_MS = 10_000;

/** Without a provider there are no secrets, and `get` says so. `warn` takes what the model must not read. */
export function createSecrets(
  provider?: SecretProvider,
  warn: (message: string) => void = () => undefined,
): Secrets {
  const forms = new Map<string, readonly string[]>();
  const pinned = new Map<string, readonly string[]>();
  let longestFirst: readonly string[] = [];
  const order = (): void => {
    const all = [...forms.values(), ...pinned.values()].flat();
    longestFirst = [...new Set(all)].sort((one, other) => other.length - one.length);
  };
  const keep = (value: string): void => {
    if (value.length < LEAST_CHARACTERS) return;
    if (forms.delete(value)) return void forms.set(value, formsOf(value));
    forms.set(value, formsOf(value));
    const [oldest] = forms.keys();
    if (forms.size > MOST_KEPT && oldest !== undefined) forms.delete(oldest);
    order();
  };
  const pin = (value: string): void => {
    if (value.length < LEAST_CHARACTERS || pinned.has(value)) return;
    pinned.set(value, formsOf(value));
    order();
  };
  const hide = (text: string): string => hideSecrets(text, longestFirst);
  return {
    async get(name, signal) {
      const value = await ask(provider, { name, signal, warn });
      keep(value);
      if (value.length < LEAST_CHARACTERS)
        warn(`the secret ${JSON.stringify(name)} is too short to be redacted`);
      return value;
    },
    keep,
    pin,
    hide,
    hideStream: () => hidingStream(() => longestFirst),
  };
}

interface Asked {
  name: string;
  signal: AbortSignal;
  warn: (message: string) => void;
}

async function ask(provider: SecretProvider | undefined, { name, signal, warn }: Asked): Promise<string> {
  const named = JSON.stringify(name);
  if (provider === undefined)
    throw new ToolError(`there is no secret ${named}: the config names no provider of secrets`);
  const late = AbortSignal.timeout(PROVIDER_MS);
  let value: unknown;
  try {
    const asked = Promise.resolve().then(() => provider(name));
    value = await unlessAborted(asked, AbortSignal.any([signal, late]));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    warn(`the provider of secrets failed for ${named}: ${late.aborted ? 'no answer' : errorMessage(error)}`);
    throw new ToolError(`the secret ${named} could not be read`, { retryable: true });
  }
  if (typeof value === 'string' && value !== '') return value;
  throw new ToolError(`there is no secret ${named}`);
}

/** The forms in which a secret may stand in a text: as it is, in JSON, in HTML, in URLs and forms, in base64 and hex. */
function formsOf(value: string): string[] {
  const json = inJson(value);
  const bytes = Buffer.from(value);
  const inText = [value, json, inJson(json), ...inOtherJson(json), ...inHtml(value), ...inUrl(value)];
  const hex = bytes.toString('hex');
  const all = [...inText, ...inBase64(bytes), hex, hex.toUpperCase()];
  return [...new Set(all)].filter((form) => form.length >= LEAST_CHARACTERS);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** As other languages write JSON: in ASCII (Python), with `\/` (PHP), and with signs of HTML escaped (Go, Rails, .NET). */
function inOtherJson(json: string): string[] {
  const ascii = escaped(json, /[^\0-\x7f]/g);
  const slashes = [json, ascii].map((one) => one.replaceAll('/', '\\/'));
  const signs = escaped(json, /[&<>\u2028\u2029]/g);
  const strict = escaped(json.replaceAll('\\"', '\\u0022'), /[&'+<>`]|[^\0-\x7f]/g);
  return [
    ascii,
    ...slashes,
    signs,
    strict,
    strict.replace(/(?<=\\u)[0-9a-f]{4}/g, (hex) => hex.toUpperCase()),
  ];
}

function escaped(json: string, units: RegExp): string {
  return json.replace(units, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** As templates write text: they differ in how they write quotes. */
function inHtml(value: string): string[] {
  const text = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return ['&quot;', '&#34;', '&#x22;'].flatMap((double) =>
    ["'", '&#39;', '&#x27;', '&#039;'].map((single) => text.replaceAll('"', double).replaceAll("'", single)),
  );
}

function inUrl(value: string): string[] {
  // A half of a character has no form in a URL; going through bytes replaces it.
  const encoded = encodeURIComponent(Buffer.from(value).toString());
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  return [encoded, form].flatMap((one) => [one, one.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]);
}

/** Whole, and as the middle of a longer text: there it begins at one of three places between the letters. */
function inBase64(bytes: Buffer): string[] {
  const whole = bytes.toString('base64');
  const parts = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const standard = [whole, whole.replaceAll('=', ''), ...parts];
  return standard.flatMap((one) => [one, one.replaceAll('+', '-').replaceAll('/', '_')]);
}

function hidingStream(formsNow: () => readonly string[]): HidingStream {
  let held = '';
  return {
    add(piece) {
      const forms = formsNow();
      const text = hideSecrets(held + piece, forms);
      const from = text.length - heldBack(text, forms);
      held = text.slice(from);
      return text.slice(0, from);
    },
    rest: () => (held.length < LEAST_CHARACTERS ? held : REDACTED),
  };
}

/** How many characters at the end of a text may be the start of a secret. */
function heldBack(text: string, forms: readonly string[]): number {
  const [longest = ''] = forms;
  const firsts = new Set(forms.map(([first]) => first));
  for (let length = Math.min(longest.length - 1, text.length); length > 0; length--) {
    if (!firsts.has(text.at(-length))) continue;
    const end = text.slice(-length);
    if (forms.some((form) => form.length > length && form.startsWith(end))) return length;
  }
  return 0;
}
