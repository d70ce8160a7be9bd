import { CountersignError } from '../../contract/errors';
import { digestSecret, drawSecret, sameDigest } from './secrets';
import { readUsers, writeUsers, type User } from './users-file';

/** Plain letters only: a name stands in the record, where a look-alike would pass for somebody else. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/;

/** Those who may sign in with a token. Read anew each time, so a change holds at once. */
export interface Users {
  list(): Promise<User[]>;
  /** Adds a user and returns the token, which is nowhere else. Errors: `usage`, `users_invalid`. */
  add(name: string): Promise<string>;
  /** Removes a user; what is signed in with the token is signed out. Errors: `user_not_found`, `users_invalid`. */
  remove(name: string): Promise<void>;
  /** Whose token this is; undefined where it is nobody's. */
  withToken(token: string): Promise<User | undefined>;
}

/** The users of a file. */
export function createUsers(file: string): Users {
  return {
    list: () => readUsers(file),
    add: (name) => addUser(file, name),
    remove: (name) => removeUser(file, name),
    withToken: async (token) => {
      const digest = digestSecret(token);
      // All are compared: how long it takes tells nothing about which one fits.
      return (await readUsers(file)).filter((user) => sameDigest(user.tokenDigest, digest)).at(0);
    },
  };
}

async function addUser(file: string, name: string): Promise<string> {
  if (!NAME.test(name))
    throw new CountersignError('usage', `${JSON.stringify(name)} cannot be a user's name`, {
      hint: 'use letters, digits and . _ @ + -, at most 64',
    });
  const users = await readUsers(file);
  if (users.some((user) => user.name.toLowerCase() === name.toLowerCase()))
    throw new CountersignError('usage', `there is a user ${name} already`, {
      hint: `for a new token remove the user first: countersign web user remove ${name}`,
    });
  // Begins with letters, so that no shell takes it for an option and scanners for secrets know it.
  const token = `cs_${drawSecret()}`;
  const user = { name, tokenDigest: digestSecret(token), createdAt: new Date().toISOString() };
  await writeUsers(file, [...users, user]);
  return token;
}

async function removeUser(file: string, name: string): Promise<void> {
  const users = await readUsers(file);
  const left = users.filter((user) => user.name !== name);
  if (left.length === users.length)
    throw new CountersignError('user_not_found', `there is no user ${name}`, {
      hint: 'countersign web user list shows them',
    });
  await writeUsers(file, left);
}
