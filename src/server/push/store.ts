import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CountersignError, errorMessage } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { readPrivateFile, replaceFile, syncFolder, unlessMissing } from '../../files';
import { type Subscription, subscriptionId, subscriptionSchema } from './subscription';

const keptSchema = subscriptionSchema.extend({
  /** Who was signed in there. */
  user: z.string(),
  /** When it was made; milliseconds since 1970. */
  at: z.number(),
});

/** A subscription, and whose it is. */
export type KeptSubscription = z.output<typeof keptSchema>;

/** The subscriptions of all people, on disk. The web inbox adds to them, and whoever sends removes what is over. */
export interface Subscriptions {
  get(id: string): KeptSubscription | undefined;
  list(): Promise<KeptSubscription[]>;
  /** Resolves once it is on disk. A browser has one owner, the last; of a person's browsers the newest ten are kept. */
  add(user: string, subscription: Subscription, now: number): Promise<void>;
  /** `user`: only where it is theirs. */
  remove(id: string, user?: string): Promise<void>;
}

/** How browsers are notified. */
export interface Push {
  /** Of the key that messages are signed with; browsers take them from nobody else. */
  publicKey: string;
  subscriptions: Subscriptions;
  /** Whether messages may be sent there: people choose the address, and this server sends to it. */
  mayReach(endpoint: URL): boolean;
}

/** Browsers of one person. */
const MOST_OF_A_PERSON = 10;
const FILE = /^([0-9a-f]{64})\.json$/;

/**
 * Keeps each in a file of its own, which only its owner can read: two processes that add and remove at once lose nothing.
 * The folder is made with the first one.
 */
export function openSubscriptions(folder: string): Subscriptions {
  const fileOf = (id: string): string => join(folder, `${id}.json`);
  const get = (id: string): KeptSubscription | undefined => {
    if (!FILE.test(`${id}.json`)) return undefined;
    const read = readPrivateFile(fileOf(id), { strict: true });
    // What others could write is nobody's wish.
    const kept = 'text' in read ? keptSchema.safeParse(parseJson(read.text)).data : undefined;
    return kept !== undefined && subscriptionId(kept) === id ? kept : undefined;
  };
  const list = async (): Promise<KeptSubscription[]> => {
    const names = (await unlessMissing(readdir(folder))) ?? [];
    return names.flatMap((name) => get(FILE.exec(name)?.[1] ?? '') ?? []);
  };
  const remove = async (id: string, user?: string): Promise<void> => {
    const kept = get(id);
    if (kept === undefined || (user !== undefined && kept.user !== user)) return;
    await rm(fileOf(id), { force: true });
    await syncFolder(folder);
  };
  // One after the other, so that nobody gets past the limit.
  let adding: Promise<void> = Promise.resolve();
  const add = async (user: string, { endpoint, keys }: Subscription, at: number): Promise<void> => {
    await makeFolder(folder);
    const id = subscriptionId({ endpoint });
    await replaceFile(fileOf(id), `${JSON.stringify({ user, at, endpoint, keys })}\n`);
    const own = (await list()).filter((one) => one.user === user && subscriptionId(one) !== id);
    const newest = own.sort((a, b) => b.at - a.at);
    for (const old of newest.slice(MOST_OF_A_PERSON - 1)) await remove(subscriptionId(old));
  };
  return {
    get,
    list,
    remove,
    add: (user, subscription, at) => {
      const added = adding.then(() => add(user, subscription, at));
      adding = added.catch(() => undefined);
      return added;
    },
  };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new CountersignError('file_failed', `no browser can be kept: ${errorMessage(cause)}`, { cause });
  }
}
