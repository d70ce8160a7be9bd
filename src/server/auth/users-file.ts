import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CountersignError } from '../../contract/errors';
import { isObject } from '../../contract/json';

/** Somebody who may sign in; the token itself is nowhere. */
export interface User {
  name: string;
  /** SHA-256 of the token, in hex. */
  tokenDigest: string;
  /** ISO 8601. */
  createdAt: string;
}

const fileSchema = z.strictObject({
  users: z.array(
    z.strictObject({
      name: z.string().min(1),
      tokenDigest: z.string().regex(/^[0-9a-f]{64}$/),
      createdAt: z.string(),
    }),
  ),
});

/** Whatever lets somebody else than the owner read or write it. */
const OTHERS = 0o077;

/**
 * The users of a file; none where there is no file.
 *
 * @throws CountersignError `users_invalid`: the file is not the owner's alone, is a link, or holds something else.
 */
export async function readUsers(file: string): Promise<User[]> {
  const text = await readPrivate(file);
  if (text === undefined) return [];
  const parsed = fileSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data.users;
  throw invalid(
    `the users file ${file} holds something else`,
    'put it right, or remove it and add the users anew',
  );
}

/** Writes the users of a file whole, so that nobody reads half of it. */
export async function writeUsers(file: string, users: readonly User[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  try {
    await writePrivate(draft, `${JSON.stringify({ users }, null, 2)}\n`);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function writePrivate(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readPrivate(file: string): Promise<string | undefined> {
  const handle = await openThere(file);
  if (handle === undefined) return undefined;
  try {
    await assertPrivate(handle, file);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

async function openThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = isObject(error) ? error['code'] : undefined;
    if (code === 'ENOENT') return undefined;
    throw invalid(
      `the users file ${file} cannot be read: ${String(code)}`,
      'it has to be a file of your own, no link',
    );
  }
}

async function assertPrivate(handle: FileHandle, file: string): Promise<void> {
  const facts = await handle.stat();
  if (!facts.isFile()) throw invalid(`the users file ${file} is no file`, 'name another one with --users');
  const owner = process.getuid?.();
  if (owner === undefined) return;
  if (facts.uid !== owner)
    throw invalid(`the users file ${file} belongs to somebody else`, 'start the desk as its owner');
  if ((facts.mode & OTHERS) !== 0)
    throw invalid(`others than you can read or write the users file ${file}`, `chmod 600 ${file}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function invalid(message: string, hint: string): CountersignError {
  return new CountersignError('users_invalid', message, { hint });
}
