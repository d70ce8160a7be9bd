import type { KeyObject } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { CountersignError } from '../../contract/errors';
import { notAudit } from '../../history/audit/errors';
import type { AuditRecord } from '../../history/audit/format';
import { keyId } from '../../history/audit/keys';
import { splitLines } from '../../history/audit/lines';
import { createKnown, type Known } from '../../history/audit/resume';
import { createVerifier, type Verified } from '../../history/audit/verify';
import { continueChain, firstLine, type ChainWriter } from '../../history/audit/write';
import { withFile } from '../files';

/** An audit file that is being continued. */
export interface AuditFile {
  /** What is in it already. */
  known: Known;
  /** Appends a record, unless the file has it. */
  add(record: AuditRecord): Promise<void>;
  /** Signs what is not signed yet, makes it durable and closes the file. */
  finish(at: string): Promise<Written>;
  /** Closes the file without signing: the next export goes on from here. */
  abandon(): Promise<void>;
}

/** What came of an export. */
export interface Written {
  /** Records that are new. */
  added: number;
  records: number;
  head: { n: number; hash: string };
}

/** Whose file it is. */
export interface Owner {
  namespace: string;
  key: KeyObject;
  /** ISO 8601; the time that a new file names. */
  at: string;
}

/** Written at once; a crash loses at most so much, and the next export writes it again. */
const BUFFER_CHARS = 1024 * 1024;

/**
 * Opens an audit file to go on with it, or starts one. Every record in it is checked first: what we sign we have to
 * vouch for. What a crash left of a last line is cut off.
 *
 * @throws CountersignError `file_failed`, `audit_broken`, `audit_invalid`, `audit_key`, `usage` for another namespace's file.
 */
export async function openAuditFile(path: string, owner: Owner): Promise<AuditFile> {
  const doing = `writing ${path}`;
  const handle = await withFile(doing, () => open(path, 'a+', 0o600));
  try {
    return await withFile(doing, () => continueFile(handle, { path, owner, doing }));
  } catch (error) {
    await handle.close();
    throw error;
  }
}

interface Place {
  path: string;
  owner: Owner;
  doing: string;
}

async function continueFile(handle: FileHandle, { path, owner, doing }: Place): Promise<AuditFile> {
  const known = createKnown();
  const found = (await readThrough(handle, known, owner)) ?? (await startFile(handle, owner));
  if (found.namespace !== owner.namespace) throw otherNamespace(path, found.namespace);
  const chain = continueChain(found.end);
  const lines = bufferedLines(handle);
  let added = 0;
  return {
    known,
    add: (record) => {
      if (known.take(record)) return DONE;
      added += 1;
      return withFile(doing, () => lines.write(chain.append(record)));
    },
    finish: (at) =>
      withFile(doing, async () => {
        const isSigned = added === 0 && found.head?.hash === found.end.hash;
        const head = isSigned ? lastOf(chain) : await signAt(chain, { lines, owner, at });
        await lines.flush();
        await handle.sync();
        await handle.close();
        return { added, records: found.records + added, head };
      }),
    abandon: () => withFile(doing, () => handle.close()),
  };
}

const DONE = Promise.resolve();

/** What the file holds; undefined where it is empty. */
async function readThrough(handle: FileHandle, known: Known, { key }: Owner): Promise<Verified | undefined> {
  if (!(await handle.stat()).isFile()) throw notAudit('it is no file');
  const verifier = createVerifier({ key: keyId(key) });
  let whole = 0;
  const chunks = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: 1024 * 1024 });
  for await (const { lines, cut } of splitLines(chunks)) {
    for (const line of lines) {
      known.note(verifier.push(line));
      whole += line.length + 1;
    }
    if (cut !== undefined) await cutOff(handle, { whole, cut });
  }
  return whole === 0 ? undefined : verifier.finish();
}

/** Only what can be the rest of a line of ours: without any whole line the file may be somebody's own. */
async function cutOff(handle: FileHandle, { whole, cut }: { whole: number; cut: Buffer }): Promise<void> {
  const start = '{"n":0,"prev":"';
  if (whole === 0 && !cut.toString('latin1').startsWith(start.slice(0, cut.length)))
    throw notAudit('it does not start with the first record of one');
  await handle.truncate(whole);
}

async function startFile(handle: FileHandle, { namespace, key, at }: Owner): Promise<Verified> {
  const line = Buffer.from(firstLine({ namespace, key: keyId(key), at }));
  await handle.appendFile(Buffer.concat([line, Buffer.from('\n')]));
  const verifier = createVerifier();
  verifier.push(line);
  return verifier.finish();
}

interface LineWriter {
  write(line: string): Promise<void>;
  flush(): Promise<void>;
}

function bufferedLines(handle: FileHandle): LineWriter {
  let held: string[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    const text = held.join('');
    held = [];
    chars = 0;
    if (text !== '') await handle.appendFile(text, 'latin1');
  };
  return {
    flush,
    write: (line) => {
      held.push(line, '\n');
      chars += line.length + 1;
      return chars < BUFFER_CHARS ? DONE : flush();
    },
  };
}

async function signAt(
  chain: ChainWriter,
  { lines, owner, at }: { lines: LineWriter; owner: Owner; at: string },
): Promise<Written['head']> {
  await lines.write(chain.sign(owner.key, at));
  return lastOf(chain);
}

function lastOf({ end }: ChainWriter): Written['head'] {
  return { n: end.next - 1, hash: end.hash };
}

function otherNamespace(path: string, namespace: string): CountersignError {
  return new CountersignError('usage', `${path} is of the namespace ${namespace}`, {
    hint: 'Name another file with --out, or that namespace with --namespace.',
  });
}
