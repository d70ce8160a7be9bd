import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { FilePlan } from '../../contract/plan';
import { ToolError } from '../errors';
import { hasLoneSurrogate } from './path';

/** The encoding in which bytes are held as text. */
export type Encoding = FilePlan['encoding'];

/** UTF-8 if the bytes are valid UTF-8; otherwise Latin-1, one character per byte, so that no byte is lost. */
export function encodingOf(bytes: Uint8Array): Encoding {
  return isUtf8(bytes) ? 'utf8' : 'latin1';
}

/** Bytes as text; `encodeText` with the same encoding gives the same bytes back. */
export function decodeText(bytes: Buffer, encoding: Encoding): string {
  return bytes.toString(encoding);
}

/** The bytes of a text that `decodeText` made. */
export function encodeText(text: string, encoding: Encoding): Buffer {
  return Buffer.from(text, encoding);
}

/**
 * Converts text of a model into the form in which a file of this encoding is held.
 *
 * @throws ToolError for half a character: the file would get another character than people saw.
 */
export function fromModel(text: string, encoding: Encoding): string {
  if (hasLoneSurrogate(text))
    throw new ToolError('The text holds half a character (a lone surrogate). Nothing was written.');
  return Buffer.from(text, 'utf8').toString(encoding);
}

/** SHA-256 of bytes, in hex. */
export function hashBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Whether bytes are binary: a NUL in the first 8,000 bytes, by git's rule. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8000).includes(0);
}

/** Lines with their line ends. The last line may have no line end. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
