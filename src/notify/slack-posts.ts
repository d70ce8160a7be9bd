import { z } from 'zod';
import { digestText } from '../contract/digest';
import { type Notice, noticeForm } from './notices';
import { KEEP_MS, type Kept, openKept } from './sent';

/** The place of a message: its channel, its time (which is its id at Slack), and the app that posted it. */
const place = z.strictObject({ channel: z.string(), ts: z.string(), app: z.string() });
export type PostPlace = z.output<typeof place>;

const post = z.strictObject({
  /** The notice that the message shows. */
  notice: noticeForm,
  target: z.string(),
  /** The time directly before the message was posted, in milliseconds since 1970. */
  at: z.number(),
  /** The time since which the call waits, according to history. */
  asked: z.string(),
  /** Only for a message with buttons: the request that it shows. */
  seen: z.strictObject({ digest: z.string(), callKey: z.string() }).optional(),
  /** Absent: the message was about to be posted, and it is not known whether it was. */
  place: place.optional(),
  /** How the call ended, in the words of the message. Absent: the call still waits. */
  over: z.string().optional(),
});

/** A message that was posted, or was about to be. */
export type Post = z.output<typeof post>;

/** The key of a post. It has only hex digits, so that it fits a button. */
export function postKey({ id }: Pick<Notice, 'id'>, target: string): string {
  return digestText(`${id} ${target}`).slice(0, 32);
}

/** How long a message about a call that no longer waits is kept. People can still click it in that time. */
const KEEP_OVER_MS = 30 * 24 * 3600 * 1000;

/** Opens the messages of one channel. Without a file, they are only in memory. */
export async function openPosts(file: string | undefined): Promise<Kept<Post>> {
  return openKept(file, {
    value: post,
    isOld: ({ at, over }, now) => now - at > (over === undefined ? KEEP_MS : KEEP_OVER_MS),
  });
}
