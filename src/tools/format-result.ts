import type { ResultContent, ToolFailure } from '../contract/result';
import { isJsonObject, isObject, type Json, parseJson } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { cutOutput } from './cut-output';
import { isToolError, isTransportError } from './errors';

/**
 * Turns the value that a handler returned into text for the model. Never throws.
 *
 * | value | content | contentType |
 * |---|---|---|
 * | string | unchanged | `text` |
 * | `null`, `undefined` | `null` | `text` |
 * | number, boolean, bigint | as `String()` writes it | `text` |
 * | function, symbol | `[function name]`, `Symbol(name)` | `text` |
 * | Date | ISO 8601, or `Invalid Date` | `text` |
 * | Error | `Name: message` | `text` |
 * | Buffer, typed array, ArrayBuffer | `[binary, N bytes, base64] …` | `application/octet-stream` |
 * | list, object, also of a class | JSON with two spaces of indent | `json` |
 * | – inside: Map, Set | an object (if all keys are text) or a list of pairs; a list | |
 * | – inside: bigint, NaN, Infinity, symbol, function, binary | their text as above | |
 * | – inside: a value within itself | `[circular]` | |
 * | – with a `toJSON` | what that gives | |
 * | `{content, contentType}`, both text and nothing else but `blocks` | `content` | `contentType` |
 * | list of MCP content parts, or `{content: [parts]}` | the texts, one after another; other parts as `[image image/png, N bytes]` | `text` |
 * | anything that fails while it is read | `[cannot be written: …]` | `text` |
 */
export function formatResult(value: unknown, hide: Hide = asItIs): ResultContent {
  try {
    const { content, contentType, blocks }: ResultContent = formatKnown(value) ?? {
      content: toPrettyJson(value),
      contentType: 'json',
    };
    const hidden = blocks && parseJson(hide(JSON.stringify(blocks)));
    const kept = isJsonObject(hidden) ? { blocks: hidden } : {};
    return { content: hide(content), contentType: hide(contentType), ...kept };
  } catch (error) {
    return { content: `[cannot be written: ${messageOf(error, hide)}]`, contentType: 'text' };
  }
}

function formatKnown(value: unknown): ResultContent | undefined {
  if (value === undefined || value === null) return text('null');
  if (typeof value === 'function') return text(`[function ${value.name || 'without a name'}]`);
  if (typeof value !== 'object') return text(String(value));
  if (value instanceof Date)
    return text(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString());
  if (value instanceof Error) return text(`${value.name}: ${value.message}`);
  const bytes = toBytes(value);
  if (bytes !== undefined) return { content: describeBytes(bytes), contentType: 'application/octet-stream' };
  return formatContent(value);
}

function formatContent(value: object): ResultContent | undefined {
  if (isParts(value)) return text(value.map(formatPart).join('\n'));
  if (!isObject(value)) return undefined;
  const { content, contentType, blocks, ...others } = value;
  if (
    typeof content === 'string' &&
    typeof contentType === 'string' &&
    Object.keys(others).length === 0 &&
    (blocks === undefined || isJsonObject(blocks))
  )
    return { content, contentType, ...(blocks && { blocks }) };
  return isParts(content) ? text(content.map(formatPart).join('\n')) : undefined;
}

const PART_TYPES: readonly unknown[] = ['text', 'image', 'audio', 'resource', 'resource_link'];

/** True for a list whose members are all MCP content parts, of one type or of several. */
function isParts(value: unknown): value is Record<string, unknown>[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((part) => isObject(part) && PART_TYPES.includes(part['type']) && hasBody(part));
}

function hasBody(part: Record<string, unknown>) {
  if (part['type'] === 'text') return typeof part['text'] === 'string';
  if (part['type'] === 'resource') return isObject(part['resource']);
  if (part['type'] === 'resource_link') return typeof part['uri'] === 'string';
  return typeof part['data'] === 'string' && typeof part['mimeType'] === 'string';
}

function formatPart(part: Record<string, unknown>) {
  const { type, text: words, resource, uri, data, mimeType } = part;
  if (type === 'text') return String(words);
  if (type === 'resource_link') return `[resource ${String(uri)}]`;
  if (!isObject(resource))
    return `[${String(type)} ${String(mimeType)}, ${Buffer.byteLength(String(data), 'base64')} bytes]`;
  return typeof resource['text'] === 'string' ? resource['text'] : `[resource ${String(resource['uri'])}]`;
}

function text(content: string): ResultContent {
  return { content, contentType: 'text' };
}

/** Any value as indented JSON. Values without a JSON form become text, see formatResult. Throws if a getter throws. */
export function toPrettyJson(value: unknown): string {
  const above: unknown[] = [];
  return JSON.stringify(
    value,
    function (this: unknown, key, current: unknown) {
      // `this` holds the key, so we have left all objects that we entered after `this`.
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      const original: unknown = typeof this === 'object' && this !== null ? Reflect.get(this, key) : current;
      const plain = toJsonForm(original, current);
      if (typeof plain !== 'object' || plain === null) return plain;
      if (above.includes(plain) || above.includes(original)) return '[circular]';
      above.push(plain);
      return plain;
    },
    2,
  );
}

/** `original` is the value in its holder. `current` is the result of its `toJSON`, or the same value without one. */
function toJsonForm(original: unknown, current: unknown): unknown {
  const bytes = toBytes(original);
  if (bytes !== undefined) return describeBytes(bytes);
  if (current instanceof Map) return fromMap(current);
  if (current instanceof Set) return [...current];
  if (current instanceof Error) return { name: current.name, message: current.message };
  return typeof current === 'object' ? current : fromPrimitive(current);
}

function fromMap(map: Map<unknown, unknown>): unknown {
  const pairs = [...map];
  return pairs.every(([key]) => typeof key === 'string') ? Object.fromEntries(map) : pairs;
}

function fromPrimitive(value: unknown) {
  if (typeof value === 'function') return `[function ${value.name || 'without a name'}]`;
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

/** The bytes of a binary value. Undefined for any other value. */
function toBytes(value: unknown): Buffer | undefined {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer ? Buffer.from(value) : undefined;
}

/** Bytes as text, with a mark that distinguishes them from text of the tool. */
export function describeBytes(bytes: Buffer): string {
  return `[binary, ${bytes.length} bytes, base64] ${bytes.toString('base64')}`;
}

/** The most bytes of a message. A longer message does not help a model. */
const MESSAGE_BYTES = 4 * 1024;

/** The most bytes of details: they are for facts, not for data. */
const DETAILS_BYTES = 16 * 1024;

/** The message of a thrown value, cut to 4 KiB. Works for any value, also with hostile getters. */
export function messageOf(thrown: unknown, hide: Hide = asItIs): string {
  const message = readSafely(() => (thrown instanceof Error ? thrown.message : describe(thrown)));
  return cutOutput(
    message === undefined || message === '' ? 'it failed without a message' : hide(message),
    MESSAGE_BYTES,
  );
}

/** Removes secrets from a text. The function runs before the text is cut, because half a secret is not recognised. */
type Hide = (text: string) => string;

const asItIs: Hide = (text) => text;

/** The stack of a thrown value, cut to the limit. Undefined if the value has no stack. */
function stackOf(thrown: unknown, hide: Hide): string | undefined {
  const stack = readSafely(() => (thrown instanceof Error ? thrown.stack : undefined));
  return stack === undefined ? undefined : cutOutput(hide(stack), LIMITS.stackBytes);
}

/** Any value as JSON of at most 16 KiB. Longer JSON becomes a text that is cut. */
function toDetails(value: unknown, hide: Hide): Json {
  const text = hide(readSafely(() => toPrettyJson(value)) ?? '[cannot be written]');
  if (Buffer.byteLength(text) > DETAILS_BYTES) return cutOutput(text, DETAILS_BYTES);
  return readJson(text);
}

function readJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    // The text is not JSON if it lost a secret that was not a string, or if the value could not be written.
    return text;
  }
}

function describe(thrown: unknown) {
  if (typeof thrown === 'string') return thrown;
  return typeof thrown === 'object' && thrown !== null ? toPrettyJson(thrown) : String(thrown);
}

function readSafely(read: () => unknown): string | undefined {
  try {
    const text = read();
    return text === undefined ? undefined : String(text);
  } catch {
    // A value that cannot be read has no text.
    return undefined;
  }
}

/** The failure for a thrown value: `transport`, the code of a ToolError, or `tool` with the stack. Never throws. */
export function describeFailure(thrown: unknown, hide: Hide = asItIs): ToolFailure {
  const message = messageOf(thrown, hide);
  if (isTransportError(thrown)) return { code: 'transport', message, ...detailsOf(thrown, hide) };
  if (isToolError(thrown)) return { code: thrown.code, message, ...detailsOf(thrown, hide) };
  const stack = stackOf(thrown, hide);
  return { code: 'tool', message, stack };
}

function detailsOf({ details }: { details?: Json }, hide: Hide): Pick<ToolFailure, 'details'> {
  return details === undefined ? {} : { details: toDetails(details, hide) };
}
