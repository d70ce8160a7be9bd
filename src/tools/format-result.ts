import type { ResultContent } from '../contract/make-result';
import { isObject } from '../contract/json';
import { describeBytes, toBytes } from './binary';
import { toPrettyJson } from './pretty-json';
import { messageOf } from './thrown';

/**
 * What a handler returned, as text for the model. Never throws.
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
 * | – inside: Map, Set | an object (where all keys are text) or a list of pairs; a list | |
 * | – inside: bigint, NaN, Infinity, symbol, function, binary | their text as above | |
 * | – inside: a value within itself | `[circular]` | |
 * | – with a `toJSON` | what that gives | |
 * | `{content, contentType}`, both text and nothing else | `content` | `contentType` |
 * | list of MCP content parts, or `{content: [parts]}` | the texts, one after another; other parts as `[image image/png, N bytes]` | `text` |
 * | anything that fails while it is read | `[cannot be written: …]` | `text` |
 */
export function formatResult(value: unknown): ResultContent {
  try {
    return formatKnown(value) ?? { content: toPrettyJson(value), contentType: 'json' };
  } catch (error) {
    return { content: `[cannot be written: ${messageOf(error)}]`, contentType: 'text' };
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
  const { content, contentType } = value;
  const size = Object.keys(value).length;
  if (typeof content === 'string' && typeof contentType === 'string' && size === 2)
    return { content, contentType };
  return isParts(content) ? text(content.map(formatPart).join('\n')) : undefined;
}

const PART_TYPES: readonly unknown[] = ['text', 'image', 'audio', 'resource', 'resource_link'];

/** Parts need not all be of one type, but one text at least tells them from any other list. */
function isParts(value: unknown): value is Record<string, unknown>[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((part) => isObject(part) && PART_TYPES.includes(part['type']) && hasBody(part));
}

function hasBody(part: Record<string, unknown>): boolean {
  if (part['type'] === 'text') return typeof part['text'] === 'string';
  if (part['type'] === 'resource') return isObject(part['resource']);
  if (part['type'] === 'resource_link') return typeof part['uri'] === 'string';
  return typeof part['data'] === 'string' && typeof part['mimeType'] === 'string';
}

function formatPart(part: Record<string, unknown>): string {
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
