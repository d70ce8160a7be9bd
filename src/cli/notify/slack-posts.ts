import { z } from 'zod';
import { digestText } from '../../contract/digest';
import { type Notice, noticeForm } from './notices';
import { KEEP_MS, type Kept, openKept } from './sent';

/** Where a message is: its channel, its time, which is its id there, and the app that posted it. */
const place = z.strictObject({ channel: z.string(), ts: z.string(), app: z.string() });
export type Place = z.output<typeof place>;

const post = z.strictObject({
  /** Of the notice that it says. */
  notice: noticeForm,
  target: z.string(),
  /** When it was about to be posted, in milliseconds since 1970. */
  at: z.number(),
  /** Since when the call waits, as history says. */
  asked: z.string(),
  /** Only of a message with buttons: what it shows. */
  seen: z.strictObject({ digest: z.string(), callKey: z.string() }).optional(),
  /** Absent: it was about to be posted, and nobody knows whether it was. */
  place: place.optional(),
  /** How it ended, as the message says. Absent: it waits. */
  over: z.string().optional(),
});

/** A message that was posted, or was about to be. */
export type Post = z.output<typeof post>;

/** What a post is kept by: digits only, so that they fit a button. */
export function postKey({ id }: Pick<Notice, 'id'>, target: string): string {
  return digestText(`${id} ${target}`).slice(0, 32);
}

/** A message that is over can still be clicked. */
const KEEP_OVER_MS = 30 * 24 * 3600 * 1000;

/** Messages of one channel of a file; without a file in memory only. */
export async function openPosts(file: string | undefined): Promise<Kept<Post>> {
  return openKept(file, {
    value: post,
    isOld: ({ at, over }, now) => now - at > (over === undefined ? KEEP_MS : KEEP_OVER_MS),
  });
}
