import { CountersignError } from '../contract/errors';
import { parseJson } from '../contract/json';
import { sha256 } from '../system/sha256';

/** A line that has the form of a record. Its place among the other lines is checked together with the chain. */
export interface ReadLine {
  n: number;
  prev: string;
  type: string;
  /** ISO 8601. */
  at: string;
  /** The hash that the line names. It has to be the hash of `body`. */
  hash: string;
  /** The text that is hashed: frame and sealed hashes, without the closing brace. */
  body: string;
  /** Hashes of the fields that can be taken out, by name. */
  sealed: Map<string, string>;
  /** `["salt","value"]` of the fields that were not taken out, by name, as they are written in the line. */
  open: Map<string, string>;
  /** The signature in hex. Only a head has one: the line that signs all lines before it. */
  sig?: string;
}

const HASH = ',"hash":"';
const SEALED = ',"sealed":{';
const HEX = 64;
const START = /^\{"n":(0|[1-9]\d{0,15}),"prev":"([0-9a-f]{64})","type":"([a-z_]+)","at":"([^"\\]{1,40})"/;
const SIG = /^","sig":"([0-9a-f]{128})"\}$/;
const SEALED_FIELD = /"([a-z]+)":"([0-9a-f]{64})"(?:,(?=")|$)/y;
/** Matches a field up to the start of its value, with the opening quote. */
const OPEN_FIELD = /"([a-z]+)":\["[0-9a-f]{32}","/y;

/**
 * Reads a line. Only the exact bytes that we write are accepted: JSON can say the same in many ways, so a change to
 * another form would be a change that nobody finds.
 *
 * @returns what is wrong, in words, if the text is not a line of an audit file.
 */
export function readLine(line: string): ReadLine | string {
  const [, n, prev, type, at] = START.exec(line) ?? [];
  const end = line.indexOf(HASH);
  if (prev === undefined || type === undefined || at === undefined || end === -1) return 'it is not a record';
  const hashed = end + HASH.length;
  const hash = line.slice(hashed, hashed + HEX);
  const read = { n: Number(n), prev, type, at, hash, body: line.slice(0, end) };
  const rest = line.slice(hashed + HEX);
  return type === 'head' ? readHead(read, rest) : readSealed(read, rest);
}

type Start = Pick<ReadLine, 'n' | 'prev' | 'type' | 'at' | 'hash' | 'body'>;

function readHead(read: Start, rest: string): ReadLine | string {
  const [, sig] = SIG.exec(rest) ?? [];
  if (sig === undefined) return 'its signature has not the form of one';
  return { ...read, sealed: new Map(), open: new Map(), sig };
}

function readSealed(read: Start, rest: string): ReadLine | string {
  const sealedAt = read.body.indexOf(SEALED);
  const sealed =
    sealedAt === -1 || !read.body.endsWith('}')
      ? undefined
      : sealedFields(read.body.slice(sealedAt + SEALED.length, -1));
  const open = openFields(rest);
  if (sealed === undefined || open === undefined) return 'its fields have not the form of fields';
  return { ...read, sealed, open };
}

function sealedFields(text: string) {
  const fields = new Map<string, string>();
  SEALED_FIELD.lastIndex = 0;
  for (let at = 0; at < text.length; at = SEALED_FIELD.lastIndex) {
    const [, name, hash] = SEALED_FIELD.exec(text) ?? [];
    if (name === undefined || hash === undefined || fields.has(name)) return undefined;
    fields.set(name, hash);
  }
  return fields;
}

const OPENS = '","open":{';

function openFields(text: string) {
  if (!text.startsWith(OPENS) || !text.endsWith('}}')) return undefined;
  const fields = new Map<string, string>();
  const last = text.length - 2;
  for (let at = OPENS.length; at < last;) {
    OPEN_FIELD.lastIndex = at;
    const [start, name] = OPEN_FIELD.exec(text) ?? [];
    if (start === undefined || name === undefined || fields.has(name)) return undefined;
    const end = closingQuote(text, at + start.length);
    if (text[end + 1] !== ']') return undefined;
    fields.set(name, text.slice(at + name.length + 3, end + 2));
    at = end + 2;
    if (at === last) break;
    if (text[at] !== ',' || ++at === last) return undefined;
  }
  return fields;
}

/**
 * The index of the quote that ends a JSON string: the first quote with an even number of backslashes before it. -2
 * if there is none.
 */
function closingQuote(text: string, from: number) {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -2;
}

/** The reason why the values of a line are not the values that were sealed. Undefined if the values are the same. */
export function wrongValue({ sealed, open }: ReadLine): string | undefined {
  for (const [name, pair] of open) {
    const hash = sealed.get(name);
    if (hash === undefined) return `it has a value of ${name} that was never sealed`;
    if (sha256(pair) !== hash) return `the value of ${name} is not what was sealed`;
  }
  return undefined;
}

/** The body of a line as a value. Undefined if the body is not JSON, which only a forger would write. */
export function frameOf(body: string): unknown {
  return parseJson(`${body}}`);
}

/**
 * The most bytes of a line. No line that we write is longer, because arguments have a limit and results are kept as
 * digests.
 */
const MOST_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Lines of a file without their newlines. `cut`: the bytes after the last newline, which a crash leaves. */
type Lines = { lines: Buffer[]; cut?: Buffer };

/** Splits a stream into lines, some at a time. @throws CountersignError `audit_broken` for a line over 16 MiB. */
export async function* linesOfStream(chunks: AsyncIterable<Buffer>): AsyncGenerator<Lines> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const last = chunk.lastIndexOf(NEWLINE);
    if (last === -1) rest.push(chunk);
    else {
      yield { lines: linesOf(Buffer.concat([...rest, chunk.subarray(0, last + 1)])) };
      rest = [chunk.subarray(last + 1)];
    }
    if (rest.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES)
      throw new CountersignError('audit_broken', 'this is not an audit file: it has a line over 16 MiB');
  }
  const cut = Buffer.concat(rest);
  if (cut.length > 0) yield { lines: [], cut };
}

/** Splits bytes into lines. `bytes` must end with a newline. */
function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from);
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}
