import type { KeyObject } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CountersignError } from '../contract/errors';
import { asciiJson, type AuditRecord, notAudit, type SealedField } from './format';
import { keyId } from './file-key';
import {
  type ChainEnd,
  continueChain,
  createExportedRuns,
  createVerifier,
  type Expected,
  type ExportedRuns,
  firstLine,
  type VerifiedFile,
} from './chain';
import { replaceFile, syncFolder } from '../system/files';
import { readTextFile, withFileErrors } from '../system/named-files';
import { readLine, type ReadLine, linesOfStream } from './read';
import { redactLine } from './redact';
import { createReadStream } from 'node:fs';

/** An audit file that is being continued. */
export interface AuditFile {
  /** The runs that the file already holds. */
  known: ExportedRuns;
  /** Appends a record, unless the file has it. */
  add(record: AuditRecord): Promise<void>;
  /** Signs the records that are not signed yet, makes the file durable and closes it. */
  finish(at: string): Promise<Written>;
  /**
   * Closes the file without writing the records that are not signed yet. The next export continues after the last
   * signed head.
   */
  abandon(): Promise<void>;
}

/** The result of an export. */
export interface Written {
  /** The number of new records. */
  added: number;
  /**
   * The number of records in the file that no signed head vouched for. If history has such a record, the record counts
   * as new.
   */
  dropped: number;
  records: number;
  head: { n: number; hash: string };
}

/** The namespace and the key of an audit file. */
interface Owner {
  namespace: string;
  key: KeyObject;
  /** The time that a new file names, in ISO 8601. */
  at: string;
}

/**
 * The most text that is held before it is written and signed. A crash loses no more than this, and the next export
 * reads it from history again.
 */
const BUFFER_CHARS = 1024 * 1024;

/**
 * Opens an audit file to continue it, or starts a new file. Every record in it is checked first. The records after the
 * last signed head are cut off. A crash may have left them, or somebody without the key may have written them. Only
 * records that were read from history here are signed.
 *
 * @throws CountersignError `file_failed`, `audit_broken`, `usage` for another namespace's file.
 */
export async function openAuditFile(path: string, owner: Owner): Promise<AuditFile> {
  const doing = `writing ${path}`;
  const handle = await withFileErrors(doing, () => open(path, 'a+', 0o600));
  try {
    return await withFileErrors(doing, () => continueFile(handle, path, owner));
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function continueFile(handle: FileHandle, path: string, owner: Owner): Promise<AuditFile> {
  const doing = `writing ${path}`;
  const known = createExportedRuns();
  const found = await readThrough(handle, known, keyId(owner.key));
  if (found.namespace !== undefined && found.namespace !== owner.namespace)
    throw new CountersignError(
      'usage',
      `${path} is of the namespace ${found.namespace}`,
      'Name another file with --out, or that namespace with --namespace.',
    );
  await handle.truncate(found.bytes);
  const lines = signedLines(handle, owner);
  const chain = continueChain(found.signed?.end ?? (await startFile(handle, owner)));
  let added = 0;
  return {
    known,
    add: (record) => {
      if (known.take(record)) return DONE;
      added += 1;
      return withFileErrors(doing, () => lines.write(chain, record));
    },
    finish: (at) =>
      withFileErrors(doing, async () => {
        if (lines.held() > 0 || (found.signed === undefined && added === 0)) await lines.flush(chain, at);
        await handle.sync();
        await handle.close();
        await syncFolder(dirname(path));
        const records = (found.signed?.records ?? 0) + added;
        return {
          added,
          dropped: found.unsigned,
          records,
          head: { n: chain.end.next - 1, hash: chain.end.hash },
        };
      }),
    abandon: () => withFileErrors(doing, () => handle.close()),
  };
}

const DONE = Promise.resolve();

async function startFile(handle: FileHandle, { namespace, key, at }: Owner): Promise<ChainEnd> {
  const line = firstLine({ namespace, key: keyId(key), at });
  await handle.appendFile(`${line.text}\n`, 'latin1');
  return line.end;
}

type ChainWriter = ReturnType<typeof continueChain>;

function signedLines(handle: FileHandle, { key }: Owner) {
  let held: string[] = [];
  let chars = 0;
  const flush = async (chain: ChainWriter, at: string) => {
    const text = [...held, chain.sign(key, at), ''].join('\n');
    held = [];
    chars = 0;
    await handle.appendFile(text, 'latin1');
  };
  return {
    held: () => held.length,
    /** Writes the held lines and a signed head. `at`: ISO 8601. */
    flush,
    write: (chain: ChainWriter, record: AuditRecord) => {
      const line = chain.append(record);
      held.push(line);
      chars += line.length;
      return chars < BUFFER_CHARS ? DONE : flush(chain, new Date().toISOString());
    },
  };
}

/** The records of a file up to its last signed head, and the records after it. */
interface ReadThrough {
  /** The result of the check at the last head. Undefined if there is no head. */
  signed?: VerifiedFile;
  /** The bytes up to the end of the last head. */
  bytes: number;
  /** The number of whole records after the last head. */
  unsigned: number;
  namespace?: string;
}

/**
 * Checks every line of a file and notes which records its heads vouch for. Anybody may have written the records after
 * the last head, because a chain can be continued without the key.
 *
 * @throws CountersignError `audit_broken`.
 */
async function readThrough(handle: FileHandle, known: ExportedRuns, key: string): Promise<ReadThrough> {
  if (!(await handle.stat()).isFile()) throw notAudit('it is not a file');
  const verifier = createVerifier({ key });
  const found: ReadThrough = { bytes: 0, unsigned: 0 };
  let whole = 0;
  const chunks = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: 1024 * 1024 });
  for await (const { lines, cut } of linesOfStream(chunks)) {
    for (const bytes of lines) {
      const line = verifier.push(bytes);
      whole += bytes.length + 1;
      known.note(line);
      if (line.sig === undefined) continue;
      known.settle();
      Object.assign(found, { signed: verifier.finish(), bytes: whole });
    }
    if (cut !== undefined && whole === 0) assertOurs(cut);
  }
  return whole === 0 ? found : { ...found, ...tailOf(verifier, found) };
}

function tailOf(
  verifier: ReturnType<typeof createVerifier>,
  { signed }: ReadThrough,
): Pick<ReadThrough, 'unsigned' | 'namespace'> {
  const { records, namespace } = verifier.finish();
  return { unsigned: records - (signed?.records ?? 0), namespace };
}

/**
 * Throws for a file of another kind. A file without a complete line may belong to the user, unless the file begins like
 * an audit file.
 */
function assertOurs(cut: Buffer) {
  const start = '{"n":0,"prev":"';
  if (!cut.toString('latin1').startsWith(start.slice(0, cut.length)))
    throw notAudit('it does not start with the first record of one');
}

/**
 * Checks every byte of an audit file, and passes on each line that is unchanged. Memory does not grow with the file.
 *
 * @throws CountersignError `file_failed`, `audit_broken`.
 */
export function verifyFile(
  file: string,
  expected: Expected,
  onLine?: (line: ReadLine) => void,
): Promise<VerifiedFile> {
  return withFileErrors(`reading ${file}`, async () => {
    const verifier = createVerifier(expected);
    for await (const { lines, cut } of linesOfStream(chunksOf(file))) {
      for (const line of lines.map(verifier.push)) onLine?.(line);
      if (cut !== undefined) verifier.cut();
    }
    return verifier.finish();
  });
}

/**
 * Returns the last signed head in a file. The file is an older copy of the audit file, or a file with only a head that
 * somebody kept elsewhere.
 */
export async function readHead(file: string): Promise<ReadLine> {
  const lines = (await readTextFile(file)).trimEnd().split('\n');
  const head = lines
    .toReversed()
    .map((line) => readLine(line))
    .find((line) => typeof line !== 'string' && line.sig !== undefined);
  if (head !== undefined && typeof head !== 'string') return head;
  throw new CountersignError(
    'audit_broken',
    `${file} holds no signed head`,
    'Keep the last line of an audit file: tail -n 1 audit.jsonl > head.json',
  );
}

/** The fields to take out, and the records to take them from. */
interface Redaction {
  fields: readonly SealedField[];
  /** The turn whose records lose the fields. Absent: all records lose them. */
  turn?: string;
  /** The path of the redacted copy. It may be the path of the audit file, which the copy then replaces. */
  out: string;
}

/** The result of a redaction. */
export interface Redacted {
  file: string;
  /** The number of values that this redaction took out. */
  taken: number;
  /** The number of values that are missing from the file in all: this redaction and earlier ones took them out. */
  redacted: number;
}

/**
 * Takes values out of an audit file; every hash and signature stays valid. The file is checked at the same time and
 * replaced only at the end, so a failure loses nothing.
 *
 * @throws CountersignError `file_failed`, `audit_broken`, `not_found` for a turn without a record.
 */
export async function redactFile(file: string, redaction: Redaction): Promise<Redacted> {
  const { out } = redaction;
  return withFileErrors(`writing ${out}`, async () => {
    let counts = { taken: 0, redacted: 0 };
    await replaceFile(out, async (draft) => void (counts = await copy(file, draft, redaction)));
    return { file: out, ...counts };
  });
}

async function copy(
  file: string,
  draft: FileHandle,
  { fields, turn }: Redaction,
): Promise<Omit<Redacted, 'file'>> {
  const verifier = createVerifier();
  let taken = 0;
  let isFound = turn === undefined;
  for await (const { lines, cut } of linesOfStream(chunksOf(file))) {
    const texts = lines.map((bytes) => {
      const line = verifier.push(bytes);
      const text = bytes.toString('latin1');
      if (turn !== undefined && !line.body.includes(`,"turn":${asciiJson(turn)},`)) return `${text}\n`;
      isFound = true;
      taken += fields.filter((name) => line.open.has(name)).length;
      return `${redactLine(text, line, fields)}\n`;
    });
    await draft.appendFile(texts.join(''), 'latin1');
    if (cut !== undefined) verifier.cut();
  }
  const { redacted } = verifier.finish();
  if (!isFound) throw noSuchTurn(turn ?? '', file);
  return { taken, redacted: redacted + taken };
}

function noSuchTurn(turn: string, file: string) {
  const hint = 'Nothing was taken out. Give the whole id of a turn that was exported to this file.';
  return new CountersignError('not_found', `there is no turn ${turn} in ${file}`, {
    hint,
    data: { turn },
  });
}

/** The bytes of a file, in big pieces. */
function chunksOf(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: 1024 * 1024 });
}
