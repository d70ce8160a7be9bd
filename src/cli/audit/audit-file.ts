import type { KeyObject } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { CountersignError } from '../../contract/errors';
import type { AuditRecord } from '../../history/audit/format';
import { keyId } from '../../history/audit/keys';
import { createKnown, type Known } from '../../history/audit/resume';
import { continueChain, firstLine, type ChainEnd, type ChainWriter } from '../../history/audit/write';
import { withFile } from '../files';
import { readThrough } from './read-through';

/** An audit file that is being continued. */
export interface AuditFile {
  /** What is in it already. */
  known: Known;
  /** Appends a record, unless the file has it. */
  add(record: AuditRecord): Promise<void>;
  /** Signs what is not signed yet, makes it durable and closes the file. */
  finish(at: string): Promise<Written>;
  /** Closes the file without what is not signed yet: the next export goes on from there. */
  abandon(): Promise<void>;
}

/** What came of an export. */
export interface Written {
  /** Records that are new. */
  added: number;
  /** Records that were there and that no head vouched for; those of history are among the new ones. */
  dropped: number;
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

/** Written and signed at once: a crash loses no more, and the next export reads it from history again. */
const BUFFER_CHARS = 1024 * 1024;

/**
 * Opens an audit file to go on with it, or starts one. Every record in it is checked first. What comes after the last
 * signed head is cut off: a crash leaves it, or somebody without the key has written it, and we sign only what we read
 * from history ourselves.
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
  const found = await readThrough(handle, known, keyId(owner.key));
  if (found.namespace !== undefined && found.namespace !== owner.namespace)
    throw otherNamespace(path, found.namespace);
  await handle.truncate(found.bytes);
  const lines = signedLines(handle, owner);
  const chain = continueChain(found.signed?.end ?? (await startFile(handle, owner)));
  let added = 0;
  return {
    known,
    add: (record) => {
      if (known.take(record)) return DONE;
      added += 1;
      return withFile(doing, () => lines.write(chain, record));
    },
    finish: (at) =>
      withFile(doing, async () => {
        if (lines.held() > 0 || (found.signed === undefined && added === 0)) await lines.flush(chain, at);
        await handle.sync();
        await handle.close();
        const records = (found.signed?.records ?? 0) + added;
        return { added, dropped: found.unsigned, records, head: lastOf(chain) };
      }),
    abandon: () => withFile(doing, () => handle.close()),
  };
}

const DONE = Promise.resolve();

async function startFile(handle: FileHandle, { namespace, key, at }: Owner): Promise<ChainEnd> {
  const line = firstLine({ namespace, key: keyId(key), at });
  await handle.appendFile(`${line.text}\n`, 'latin1');
  return line.end;
}

/** Holds lines until they are worth a write, and signs each time. */
interface SignedLines {
  held(): number;
  write(chain: ChainWriter, record: AuditRecord): Promise<void>;
  /** Writes what is held, with a head. `at`: ISO 8601. */
  flush(chain: ChainWriter, at: string): Promise<void>;
}

function signedLines(handle: FileHandle, { key }: Owner): SignedLines {
  let held: string[] = [];
  let chars = 0;
  const flush = async (chain: ChainWriter, at: string): Promise<void> => {
    const text = [...held, chain.sign(key, at), ''].join('\n');
    held = [];
    chars = 0;
    await handle.appendFile(text, 'latin1');
  };
  return {
    held: () => held.length,
    flush,
    write: (chain, record) => {
      const line = chain.append(record);
      held.push(line);
      chars += line.length;
      return chars < BUFFER_CHARS ? DONE : flush(chain, new Date().toISOString());
    },
  };
}

function lastOf({ end }: ChainWriter): Written['head'] {
  return { n: end.next - 1, hash: end.hash };
}

function otherNamespace(path: string, namespace: string): CountersignError {
  return new CountersignError('usage', `${path} is of the namespace ${namespace}`, {
    hint: 'Name another file with --out, or that namespace with --namespace.',
  });
}
