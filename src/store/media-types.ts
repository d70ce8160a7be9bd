import { isUtf8 } from 'node:buffer';
import { extname } from 'node:path';

/** The first bytes of files, and the media type that they mean. */
const BEGINNINGS: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[^]{4}WEBP/, 'image/webp'],
  [/^%PDF-/, 'application/pdf'],
];

const BY_ENDING: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.svg': 'image/svg+xml',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
};

/** The media type that the first bytes of a file show. Undefined if they show none that we know. */
function typeInside(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  return BEGINNINGS.find(([beginning]) => beginning.test(head))?.[1];
}

/** The media type of a file: by its bytes, then by its name. */
export function mediaTypeOf(name: string, bytes: Uint8Array): string {
  const known = typeInside(bytes) ?? BY_ENDING[extname(name).toLowerCase()];
  return known ?? (isUtf8(bytes) ? 'text/plain' : 'application/octet-stream');
}

/**
 * Whether bytes fit a media type. False if the bytes contradict the type. True if files of this type have no known
 * first bytes. Models refuse a conversation with a broken image.
 */
export function fitsType(bytes: Uint8Array, mediaType: string): boolean {
  const isTellable = BEGINNINGS.some(([, type]) => type === mediaType);
  return !isTellable || typeInside(bytes) === mediaType;
}
