import { z } from 'zod';
import { PERSON_NAME } from '../../authority/votes/names';
import { CountersignError, errnoOf, errorMessage } from '../../contract/errors';
import { makeFolderOf, readPrivateFile, replaceFile } from '../../system/files';
import { withLock } from '../../system/lock';
import type { Right } from '../api';
import { digestSecret, drawSecret, sameDigest } from './secrets';
import { readJson } from '../../contract/read-json';

/** The users who may sign in with a token. The file is read each time, so a change takes effect immediately. */
export interface Users {
  list(): Promise<User[]>;
  /**
   * Adds a user and returns the token, which is not stored.
   *
   * @throws CountersignError `usage`, `config_invalid`.
   */
  add(name: string, rights?: readonly Right[]): Promise<string>;
  /**
   * Removes a user and ends the sessions that were opened with their token.
   *
   * @throws CountersignError `not_found`, `config_invalid`.
   */
  remove(name: string): Promise<void>;
  /** The user with this token. Undefined if no user has it. */
  withToken(token: string): Promise<User | undefined>;
}

/** The users of a file. */
export function createUsers(file: string): Users {
  return {
    list: () => readUsers(file),
    add: (name, rights = []) => alone(file, () => addUser(file, name, rights)),
    remove: (name) => alone(file, () => removeUser(file, name)),
    withToken: async (token) => {
      const digest = digestSecret(token);
      // All digests are compared, so that the time reveals nothing about which one matches.
      return (await readUsers(file)).filter((user) => sameDigest(user.tokenDigest, digest)).at(0);
    },
  };
}

/**
 * Makes a change while holding a lock from reading to writing, so that two changes at the same time do not undo each
 * other.
 */
async function alone<T>(file: string, change: () => Promise<T>): Promise<T> {
  await makeFolderOf(file);
  return withLock(`${file}.lock`, { progress: () => undefined, what: 'The users are changed' }, change);
}

async function addUser(file: string, name: string, rights: readonly Right[]): Promise<string> {
  if (!PERSON_NAME.test(name))
    throw new CountersignError(
      'usage',
      `${JSON.stringify(name)} cannot be a user's name`,
      'use letters, digits and . _ @ + -, at most 64',
    );
  const users = await readUsers(file);
  if (users.some((user) => user.name.toLowerCase() === name.toLowerCase()))
    throw new CountersignError(
      'usage',
      `there is a user ${name} already`,
      `for a new token remove the user first: countersign web user ${name} --remove`,
    );
  // The prefix keeps a shell from reading the token as an option, and secret scanners recognise it.
  const token = `cs_${drawSecret()}`;
  const user = { name, tokenDigest: digestSecret(token), createdAt: new Date().toISOString(), rights };
  await writeUsers(file, [...users, user]);
  return token;
}

async function removeUser(file: string, name: string) {
  const users = await readUsers(file);
  const left = users.filter((user) => user.name !== name);
  if (left.length === users.length)
    throw new CountersignError('not_found', `there is no user ${name}`, 'countersign web user shows them');
  await writeUsers(file, left);
}

/** A user who may sign in. The token itself is not stored. */
export interface User {
  name: string;
  /** SHA-256 of the token, in hex. */
  tokenDigest: string;
  /** ISO 8601. */
  createdAt: string;
  rights: readonly Right[];
}

/** All rights. */
export const RIGHTS = ['fork-live', 'converse'] as const satisfies readonly Right[];

const fileSchema = z.strictObject({
  users: z.array(
    z.strictObject({
      name: z.string().min(1),
      tokenDigest: z.string().regex(/^[0-9a-f]{64}$/),
      createdAt: z.string(),
      // A file written by hand may leave this out, which grants no rights.
      rights: z.array(z.enum(RIGHTS)).default([]),
    }),
  ),
});

/**
 * The users in a file. The list is empty if the file does not exist.
 *
 * @throws CountersignError `config_invalid`: others can read or write the file, the file is a link, or its content is
 * not a list of users.
 */
async function readUsers(file: string): Promise<User[]> {
  const text = readPrivate(file);
  if (text === undefined) return [];
  const read = readJson(text);
  const parsed = fileSchema.safeParse(read.ok ? read.value : undefined);
  if (parsed.success) return parsed.data.users;
  throw usersInvalid(
    `the users file ${file} does not hold a list of users`,
    'correct it, or remove it and add the users again',
  );
}

/** Replaces the file of users. The caller holds its lock. */
function writeUsers(file: string, users: readonly User[]) {
  return replaceFile(file, `${JSON.stringify({ users }, null, 2)}\n`);
}

/** The most bytes of the file. A file with all users of a company is many times smaller. */
const MOST_BYTES = 16 * 1024 * 1024;

function readPrivate(file: string): string | undefined {
  const read = readPrivateFile(file, { strict: true, limit: MOST_BYTES });
  if ('text' in read) return read.text;
  switch (read.fault) {
    case 'missing':
      return undefined;
    case 'not_yours':
      throw usersInvalid(
        `the users file ${file} belongs to another user`,
        'start the web inbox as its owner',
      );
    case 'open_to_others':
      throw usersInvalid(`others can read or write the users file ${file}`, `chmod 600 ${file}`);
    case 'unreadable':
      throw usersInvalid(
        `the users file ${file} cannot be read: ${errnoOf(read.cause) ?? errorMessage(read.cause)}`,
        'it has to be a file of your own, and not a link',
      );
    default:
      throw usersInvalid(
        `the users file ${file} is not a file, or is over 16 MiB`,
        'name another one with --users',
      );
  }
}

function usersInvalid(message: string, hint: string) {
  return new CountersignError('config_invalid', message, hint);
}
