/** Thrown for bytes that are not in the form of SSH (RFC 4251, section 5). */
export class WireError extends Error {}

/** Reads SSH values one after another. Each method throws a `WireError` if the next bytes are not such a value. */
export interface WireReader {
  byte(): number;
  uint32(): number;
  /** A string of bytes. */
  bytes(): Buffer;
  /** A string of printable ASCII. */
  text(): string;
  /** A number above zero, in its shortest form. The result has no sign byte. */
  positive(): Buffer;
  /** Checks that no bytes are left. */
  end(): void;
}

export function readWire(source: Uint8Array): WireReader {
  const all = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  let at = 0;
  const take = (count: number): Buffer => {
    if (count > all.length - at) throw new WireError('it is cut off');
    at += count;
    return all.subarray(at - count, at);
  };
  const uint32 = () => take(4).readUInt32BE(0);
  const bytes = () => take(uint32());
  return {
    byte: () => take(1).readUInt8(0),
    uint32,
    bytes,
    text: () => {
      const text = bytes().toString('latin1');
      if (!/^[\x20-\x7e]*$/.test(text)) throw new WireError('a name has other characters than ASCII');
      return text;
    },
    positive: () => {
      const number = bytes();
      const [first = 0x80, second = 0] = number;
      const isShortest = first !== 0 || second >= 0x80;
      if (first >= 0x80 || !isShortest) throw new WireError('a number is not in its shortest form');
      return first === 0 ? number.subarray(1) : number;
    },
    end: () => {
      if (at !== all.length) throw new WireError('something follows');
    },
  };
}

/** A string of SSH: its length, and its bytes. */
export function wireString(content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The bytes of a text in base64. Undefined if the text is not the one correct spelling of these bytes. */
export function readBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
