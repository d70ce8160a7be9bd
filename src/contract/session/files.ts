import { LIMITS } from '../limits';
import { guard } from '../schema/message';
import { exact, integer, list, type Of, text } from '../schema/shape';

/**
 * A file that comes with a person's message. History has only this reference. A store keeps the bytes by their digest.
 */
const FILE_REF = exact({
  /** SHA-256 of the bytes, in hex. */
  digest: text({ pattern: '^[0-9a-f]{64}$' }),
  /** The media type as the sender states it, such as `image/png`. */
  mediaType: text({ maxLength: 100, pattern: '^[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*$' }),
  /** The number of bytes. */
  size: integer({ minimum: 0, maximum: LIMITS.fileBytes }),
  /** The file's own name, without a folder and without invisible characters. */
  name: text({ minLength: 1, maxLength: 200, pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}/\\\\]*$' }),
});

/** A file by reference. */
export interface FileRef extends Of<typeof FILE_REF> {}

/** The files of one message. */
export const FILES = list(FILE_REF, { maxItems: LIMITS.filesPerMessage });

// Marked as pure so that the page's bundle can drop it: the page reads only data that the server has checked.
/** Whether a value is a file by reference. Never throws. */
export const isFileRef = /* @__PURE__ */ guard(FILE_REF);

// Marked as pure so that the page's bundle can drop it: the page reads only data that the server has checked.
/** Whether a value is a list of the files of one message. Never throws. */
export const areFiles = /* @__PURE__ */ guard(FILES);

/** A text that stands for a message with its files. Without files it is the message's text. */
export function contentOf({ text, files = [] }: { text: string; files?: readonly FileRef[] }): string {
  if (files.length === 0) return text;
  return [text, ...files.map(({ digest, mediaType, name }) => `${digest} ${mediaType} ${name}`)].join('\n');
}
