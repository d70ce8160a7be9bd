import { errorMessage } from '../contract/errors';
import { hideSecrets, REDACTED } from '../contract/text/redact';
import { splitAtCuts } from './cut-output';
import { ToolError } from './errors';
import { unlessAborted } from './wait-within';
import { unitEscapes } from '../contract/text/bytes';

/**
 * Returns a secret by its name, from a vault, a file or the environment. The function is called for each `secrets.get`,
 * so a provider should cache values that are slow to get.
 */
export type SecretProvider = (name: string) => string | undefined | Promise<string | undefined>;

/** The secrets of one worker or of one executor. Hands secrets out, and removes handed-out secrets from any text. */
export interface Secrets {
  /**
   * @throws ToolError for the model, with the name of the secret and nothing from its provider; the error is retryable
   * if the provider failed or took too long. After an abort, throws the signal's reason.
   */
  get(name: string, signal: AbortSignal): Promise<string>;
  /** Adds a secret from another source. A secret of fewer than 8 characters is not redacted. */
  keep(value: string): void;
  /** Adds a secret for as long as the worker runs. Newer secrets do not displace it. */
  pin(value: string): void;
  /**
   * Removes from a text all secrets that were handed out or added, in every form in which they may stand, and their
   * parts beside the mark of a cut.
   */
  hide(text: string): string;
  /** `hide` for text that comes in pieces, which may end in the middle of a secret. */
  hideStream(): HidingStream;
}

/** Hides secrets in a text that comes in pieces. Holds back an end that may be the start of a secret. */
export interface HidingStream {
  /** Adds a piece, and returns the part of the text that is safe to show now. */
  add(piece: string): string;
  /** The text that is held back, in the form that may be shown if nothing follows. */
  rest(): string;
}

/** The fewest characters of a secret that is redacted. Shorter values occur in texts by chance. */
export const LEAST_CHARACTERS = 8;

/** The most secrets that are kept, the newest. A provider that makes a token for each call would fill the memory. */
const MOST_KEPT = 200;

/** A provider that hangs must not use up the time of its call. */
const PROVIDER_MS = 10_000;

/** Makes the secrets. Without a provider, `get` always throws. `warn` receives facts that the model must not read. */
export function createSecrets(
  provider?: SecretProvider,
  warn: (message: string) => void = () => undefined,
): Secrets {
  const forms = new Map<string, readonly string[]>();
  const pinned = new Map<string, readonly string[]>();
  let longestFirst: readonly string[] = [];
  const order = () => {
    const all = [...forms.values(), ...pinned.values()].flat();
    longestFirst = [...new Set(all)].sort((one, other) => other.length - one.length);
  };
  const keep = (value: string) => {
    if (value.length < LEAST_CHARACTERS) return;
    if (forms.delete(value)) return void forms.set(value, formsOf(value));
    forms.set(value, formsOf(value));
    const [oldest] = forms.keys();
    if (forms.size > MOST_KEPT && oldest !== undefined) forms.delete(oldest);
    order();
  };
  const pin = (value: string) => {
    if (value.length < LEAST_CHARACTERS || pinned.has(value)) return;
    pinned.set(value, formsOf(value));
    order();
  };
  const hide = (text: string) => hideAtCuts(hideSecrets(text, longestFirst), longestFirst);
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

async function ask(
  provider: SecretProvider | undefined,
  { name, signal, warn }: { name: string; signal: AbortSignal; warn: (message: string) => void },
) {
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

/** The forms in which a secret may occur in a text: plain, in JSON, in HTML, in URLs and forms, in base64 and hex. */
function formsOf(value: string) {
  const json = inJson(value);
  const bytes = Buffer.from(value);
  const inText = [value, json, inJson(json), ...inOtherJson(json), ...inHtml(value), ...inUrl(value)];
  const hex = bytes.toString('hex');
  const all = [...inText, ...inBase64(bytes), hex, hex.toUpperCase()];
  return [...new Set(all)].filter((form) => form.length >= LEAST_CHARACTERS);
}

function inJson(text: string) {
  return JSON.stringify(text).slice(1, -1);
}

/** The JSON of other languages: in ASCII (Python), with `\/` (PHP), with signs of HTML escaped (Go, Rails, .NET). */
function inOtherJson(json: string) {
  const ascii = json.replace(/[^\0-\x7f]/g, unitEscapes);
  const slashes = [json, ascii].map((one) => one.replaceAll('/', '\\/'));
  const signs = json.replace(/[&<>\u2028\u2029]/g, unitEscapes);
  const strict = json.replaceAll('\\"', '\\u0022').replace(/[&'+<>`]|[^\0-\x7f]/g, unitEscapes);
  return [
    ascii,
    ...slashes,
    signs,
    strict,
    strict.replace(/(?<=\\u)[0-9a-f]{4}/g, (hex) => hex.toUpperCase()),
  ];
}

/** The forms of HTML templates, which differ in how they escape quotes. */
function inHtml(value: string) {
  const text = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return ['&quot;', '&#34;', '&#x22;'].flatMap((double) =>
    ["'", '&#39;', '&#x27;', '&#039;'].map((single) => text.replaceAll('"', double).replaceAll("'", single)),
  );
}

function inUrl(value: string) {
  // Half a character (a lone surrogate) has no form in a URL. The conversion to bytes replaces it.
  const encoded = encodeURIComponent(Buffer.from(value).toString());
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  return [encoded, form].flatMap((one) => [one, one.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]);
}

/** The base64 of a secret alone, and as part of a longer text, where it can start at one of three offsets. */
function inBase64(bytes: Buffer) {
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

/** The fewest characters of a part of a secret that is hidden at a cut. Shorter parts stand there by chance. */
const LEAST_PART = 4;

/** Hides the parts of secrets at the cuts of a text. The tool that cut its output did not know what is secret. */
function hideAtCuts(text: string, forms: readonly string[]) {
  const pieces = splitAtCuts(text);
  if (pieces.length === 1) return text;
  const hidden = pieces.map((piece, index) => {
    if (index % 2 === 1) return piece;
    const from = index === 0 ? 0 : partAtStart(piece, forms);
    const rest = `${from < LEAST_PART ? piece.slice(0, from) : REDACTED}${piece.slice(from)}`;
    const end = index === pieces.length - 1 ? 0 : heldBack(rest, forms);
    return end < LEAST_PART ? rest : `${rest.slice(0, -end)}${REDACTED}`;
  });
  return hidden.join('');
}

/** How many characters at the start of a text may be the end of a secret. */
function partAtStart(text: string, forms: readonly string[]) {
  const [longest = ''] = forms;
  const lasts = new Set(forms.map((form) => form.at(-1)));
  for (let length = Math.min(longest.length - 1, text.length); length > 0; length--) {
    if (!lasts.has(text[length - 1])) continue;
    const start = text.slice(0, length);
    if (forms.some((form) => form.length > length && form.endsWith(start))) return length;
  }
  return 0;
}

/** How many characters at the end of a text may be the start of a secret. */
function heldBack(text: string, forms: readonly string[]) {
  const [longest = ''] = forms;
  const firsts = new Set(forms.map(([first]) => first));
  for (let length = Math.min(longest.length - 1, text.length); length > 0; length--) {
    if (!firsts.has(text.at(-length))) continue;
    const end = text.slice(-length);
    if (forms.some((form) => form.length > length && form.startsWith(end))) return length;
  }
  return 0;
}
