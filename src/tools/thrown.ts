import type { Json } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { cutOutput } from './cut-output';
import { toPrettyJson } from './pretty-json';

/** More than this of a message helps no model. */
const MESSAGE_BYTES = 4 * 1024;

/** Details are for the record, not for data. */
const DETAILS_BYTES = 16 * 1024;

/** What something thrown says, cut to 4 KiB; for anything at all, hostile getters included. */
export function messageOf(thrown: unknown): string {
  const message = readSafely(() => (thrown instanceof Error ? thrown.message : describe(thrown)));
  return cutOutput(
    message === undefined || message === '' ? 'it failed without a message' : message,
    MESSAGE_BYTES,
  );
}

/** Its stack, cut to the limit; undefined where it has none. */
export function stackOf(thrown: unknown): string | undefined {
  const stack = readSafely(() => (thrown instanceof Error ? thrown.stack : undefined));
  return stack === undefined ? undefined : cutOutput(stack, LIMITS.stackBytes);
}

/** Any value as JSON of at most 16 KiB; what is longer becomes its text, cut. */
export function toDetails(value: unknown): Json {
  const text = readSafely(() => toPrettyJson(value)) ?? '[cannot be written]';
  if (Buffer.byteLength(text) > DETAILS_BYTES) return cutOutput(text, DETAILS_BYTES);
  return readJson(text);
}

function readJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    // Only the mark above is no JSON.
    return text;
  }
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  return typeof thrown === 'object' && thrown !== null ? toPrettyJson(thrown) : String(thrown);
}

function readSafely(read: () => unknown): string | undefined {
  try {
    const text = read();
    return text === undefined ? undefined : String(text);
  } catch {
    // Whatever cannot be read has nothing to say.
    return undefined;
  }
}
