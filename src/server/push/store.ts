import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CountersignError, errorMessage } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { makeFolder, readPrivateFile, replaceFile, syncFolder, unlessMissing } from '../../system/files';
import { type Subscription, subscriptionId, subscriptionSchema } from './subscription';

const keptSchema = subscriptionSchema.extend({
  /** The user who was signed in in that browser. */
  user: z.string(),
  /** When the subscription was made, in milliseconds since 1970. */
  at: z.number(),
});

/** A subscription, and its user. */
type KeptSubscription = z.output<typeof keptSchema>;

/**
 * The subscriptions of all people, on disk. The web inbox adds subscriptions. The process that sends messages removes
 * the subscriptions that have ended.
 */
interface Subscriptions {
  get(id: string): KeptSubscription | undefined;
  list(): Promise<KeptSubscription[]>;
  /**
   * Resolves when the subscription is on disk. A browser belongs to the last user who added it. For each person, the
   * newest ten subscriptions are kept.
   */
  add(user: string, subscription: Subscription, now: number): Promise<void>;
  /** Removes a subscription. With `user`, removes it only if it belongs to that user. */
  remove(id: string, user?: string): Promise<void>;
}

/** Everything that the web inbox needs to let browsers be notified. */
export interface Push {
  /** The public part of the key that signs messages. Browsers accept messages only with this key. */
  publicKey: string;
  subscriptions: Subscriptions;
  /**
   * Whether messages may be sent to an address. The check is needed because people choose the address and this server
   * sends to it.
   */
  mayReach(endpoint: URL): boolean;
}

/** The most browsers of one person. */
const MOST_OF_A_PERSON = 10;
const FILE = /^([0-9a-f]{64})\.json$/;

/**
 * Keeps each subscription in a separate file that only its owner can read, so that two processes can add and remove
 * subscriptions at the same time. The first subscription makes the folder.
 */
export function openSubscriptions(folder: string): Subscriptions {
  const fileOf = (id: string) => join(folder, `${id}.json`);
  const get = (id: string) => {
    if (!FILE.test(`${id}.json`)) return undefined;
    const read = readPrivateFile(fileOf(id), { strict: true });
    // A file that other users could write is ignored.
    const kept = 'text' in read ? keptSchema.safeParse(parseJson(read.text)).data : undefined;
    return kept && subscriptionId(kept) === id ? kept : undefined;
  };
  const list = async () => {
    const names = (await unlessMissing(readdir(folder))) ?? [];
    return names.flatMap((name) => get(FILE.exec(name)?.[1] ?? '') ?? []);
  };
  const remove = async (id: string, user?: string) => {
    const kept = get(id);
    if (kept === undefined || (user !== undefined && kept.user !== user)) return;
    await rm(fileOf(id), { force: true });
    await syncFolder(folder);
  };
  // Subscriptions are added one after the other, so that nobody gets past the limit.
  let adding: Promise<void> = Promise.resolve();
  const add = async (user: string, { endpoint, keys }: Subscription, at: number) => {
    const id = subscriptionId({ endpoint });
    await makeFolder(folder).catch((cause: unknown) => {
      throw new CountersignError('file_failed', `no browser can be kept: ${errorMessage(cause)}`, { cause });
    });
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
