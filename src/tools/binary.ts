/** The bytes behind a binary value; undefined where it is none. */
export function toBytes(value: unknown): Buffer | undefined {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer ? Buffer.from(value) : undefined;
}

/** Bytes as text, marked so that nobody takes it for what the tool wrote. */
export function describeBytes(bytes: Buffer): string {
  return `[binary, ${bytes.length} bytes, base64] ${bytes.toString('base64')}`;
}
