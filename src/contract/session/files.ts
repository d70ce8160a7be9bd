import { LIMITS } from '../limits';
import { jsonSchemaOf, type MessageOf, type MessageSchema, messageGuard } from '../schema/message';
import type { JsonSchema } from '../tool';

/** A file that goes with what a person says. Only this is in history; its bytes are in a store, by their digest. */
export const FILE_REF = {
  type: 'object',
  properties: {
    /** SHA-256 of its bytes, hex. */
    digest: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    /** As whoever sent it says, such as `image/png`. */
    mediaType: { type: 'string', maxLength: 100, pattern: '^[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*$' },
    /** In bytes. */
    size: { type: 'integer', minimum: 0, maximum: LIMITS.fileBytes },
    /** Its own name, without a folder and without letters that do not show. */
    name: { type: 'string', minLength: 1, maxLength: 200, pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}/\\\\]*$' },
  },
  required: ['digest', 'mediaType', 'size', 'name'],
  additionalProperties: false,
} as const satisfies MessageSchema;

/** A file by reference. */
export interface FileRef extends MessageOf<typeof FILE_REF> {}

/** The files of one message. */
export const FILES = { type: 'array', items: FILE_REF, maxItems: LIMITS.filesPerMessage } as const;

/** The same as plain JSON Schema. */
export const FILES_SCHEMA: JsonSchema = {
  type: 'array',
  items: /* @__PURE__ */ jsonSchemaOf(FILE_REF),
  maxItems: LIMITS.filesPerMessage,
};

// Not in the page, which reads only what the server has read.
const hasFiles = /* @__PURE__ */ messageGuard({
  type: 'object',
  properties: { files: FILES },
  required: ['files'],
  additionalProperties: false,
});

/** Whether a value is the files of one message. Never throws. */
export function areFiles(files: unknown): files is FileRef[] {
  return hasFiles({ files });
}

/** Names the words of a message and its files; the same as the text alone where it has none. */
export function contentOf({ text, files = [] }: { text: string; files?: readonly FileRef[] }): string {
  if (files.length === 0) return text;
  return [text, ...files.map(({ digest, mediaType, name }) => `${digest} ${mediaType} ${name}`)].join('\n');
}
