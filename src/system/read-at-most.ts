/** Reads a body. Undefined for a body over the limit, whose rest is not read. */
export async function readAtMost(
  body: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
