import type { Approvers } from '../../authority/approvers';
import type { Countersign } from '../../client';
import { CountersignError } from '../../contract/errors';
import type { InboxSigner } from '../../server/signer';
import { untilStopped } from '../stop-signals';
import type { Correction, Notice, Receiver } from './notices';
import type { Kept } from './sent';
import { openSlack, type SlackAccess, type SlackApi } from './slack-api';
import { createClicks } from './slack-clicks';
import { openPosts, type Post, postKey } from './slack-posts';
import { askedAt, messageOf, outcomeOf, overMessage } from './slack-text';

/** How messages go to Slack, and who answers them. */
export interface SlackSettings extends SlackAccess {
  /** Where the web inbox is. */
  page: string;
  /** Ids of channels, or of people. */
  targetsOf(notice: Notice): Promise<readonly string[]>;
  client: Pick<Countersign, 'view'>;
  /** Where it is kept what was posted. Absent: nowhere. */
  postsFile?: string;
  /** What clicks need. Absent: messages only link to the web inbox. */
  answers?: {
    client: Pick<Countersign, 'view' | 'decide' | 'placeOf'>;
    approvers(): Promise<Approvers>;
    signer?: InboxSigner;
  };
  note(line: string): void;
}

/** A call that still waits is not looked at again for so long. */
const LOOK_MS = 60_000;

/**
 * A receiver of messages in Slack, with buttons where an app token and people are there.
 *
 * @throws CountersignError `not_installed`.
 */
export async function createSlack(settings: SlackSettings): Promise<Receiver> {
  const { appToken, answers, targetsOf, note, page } = settings;
  const api = await openSlack(settings);
  const board = createBoard(settings, api);
  return {
    name: 'Slack',
    targetsOf,
    deliver: (notice, signal, target = '') => untilStopped(signal, board.deliver(notice, target)),
    outdated: (open, now) => board.outdated(open, now),
    check: async (signal) => {
      const { name, teamName } = await untilStopped(signal, api.identify());
      if (appToken === undefined) return `${name} posts in ${teamName}, without buttons`;
      await untilStopped(signal, api.checkSocket());
      return `${name} posts in ${teamName} at ${new URL(page).host}, and hears what is clicked`;
    },
    ...(appToken === undefined || answers === undefined
      ? {}
      : {
          listen: async (signal) => {
            const posts = await board.posts();
            const { signer } = answers;
            const clicks = createClicks({ ...answers, api, posts, signer, refresh: board.refresh, note });
            await api.listen((body) => void clicks(body), note, signal);
          },
        }),
  };
}

/** What was posted, and what is said there by now. */
interface Board {
  posts(): Promise<Kept<Post>>;
  deliver(notice: Notice, target: string): Promise<void>;
  outdated(open: readonly Notice[], now: number): Promise<readonly Correction[]>;
  refresh(call: { turn: string; callId: string }): Promise<void>;
}

function createBoard(settings: SlackSettings, api: SlackApi): Board {
  const { client, page, postsFile, appToken, answers } = settings;
  const rules = {
    isHeard: appToken !== undefined && answers !== undefined,
    isSigned: answers?.signer !== undefined,
  };
  // Read late: until then another process may hold it.
  let opened: Promise<Kept<Post>> | undefined;
  const posts = (): Promise<Kept<Post>> => (opened ??= openPosts(postsFile));
  const lookedAt = new Map<string, number>();

  const correct = async (key: string, isVoted = false): Promise<void> => {
    const kept = await posts();
    const post = kept.get(key);
    if (post?.place === undefined || post.over !== undefined) return;
    const view = await viewOf(client, post.notice.data.turn);
    const over = view === undefined ? 'the turn is not there any more' : outcomeOf(view, post);
    lookedAt.set(key, Date.now());
    if (over !== undefined) {
      await api.update(post.place, overMessage({ ...post, over }, page));
      return kept.set(key, { ...post, over }, Date.now());
    }
    const call = view?.calls.find(({ callId }) => callId === post.notice.data.callId);
    if (!isVoted || view === undefined || call === undefined) return;
    await api.update(post.place, messageOf(post.notice, { page, target: post.target, view, call }, rules));
  };

  return {
    posts,
    deliver: async (notice, target) => {
      const kept = await posts();
      const delivery = { notice, target, kept, api };
      if (notice.type === 'test') return postTest(notice, target, { api, page, rules });
      if (await isPosted(delivery)) return;
      const view = await client.view(notice.data.turn);
      const call = view.calls.find(({ callId }) => callId === notice.data.callId);
      const asked = call === undefined ? undefined : askedAt(call);
      // It was decided in the meantime.
      if (call === undefined || asked === undefined) return;
      const { hasButtons, ...message } = messageOf(notice, { page, target, view, call }, rules);
      const { seenDigest: digest = '', callKey = '' } = call.request ?? {};
      await postOnce(delivery, { message, asked, ...(hasButtons ? { seen: { digest, callKey } } : {}) });
    },
    outdated: async (open, now) => {
      const ids = new Set(open.map(({ id }) => id));
      return (await posts())
        .entries()
        .filter(
          ([, { notice, over, place }]) => place !== undefined && over === undefined && !ids.has(notice.id),
        )
        .filter(([key]) => now - (lookedAt.get(key) ?? -LOOK_MS) >= LOOK_MS)
        .map(([key, { notice }]) => ({
          key: `change ${key}`,
          about: `change of ${notice.data.turn}/${notice.data.callId}`,
          act: (signal: AbortSignal) => untilStopped(signal, correct(key)),
        }));
    },
    refresh: async ({ turn, callId }) => {
      const about = (await posts()).entries().filter(
        ([
          ,
          {
            notice: { data },
          },
        ]) => data.turn === turn && data.callId === callId,
      );
      for (const [key] of about) await correct(key, true);
    },
  };
}

async function viewOf(client: SlackSettings['client'], turn: string) {
  try {
    return await client.view(turn);
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'turn_not_found') return undefined;
    throw error;
  }
}

interface Delivery {
  notice: Notice;
  target: string;
  kept: Kept<Post>;
  api: SlackApi;
}

/** Whether a message is there already: a process may have ended between posting it and writing that down. */
async function isPosted({ notice, target, kept, api }: Delivery): Promise<boolean> {
  const key = postKey(notice, target);
  const known = kept.get(key);
  if (known === undefined) return false;
  if (known.place !== undefined) return true;
  const place = await api.find({ target, notice: notice.id, since: known.at });
  if (place !== undefined) await kept.set(key, { ...known, place }, Date.now());
  return place !== undefined;
}

async function postOnce(
  { notice, target, kept, api }: Delivery,
  { message, ...about }: Pick<Post, 'asked' | 'seen'> & { message: Parameters<SlackApi['post']>[1] },
): Promise<void> {
  const key = postKey(notice, target);
  const at = Date.now();
  const { lineage: _, session: __, ...data } = notice.data;
  const post: Post = { notice: { ...notice, data }, target, at, ...about };
  await kept.set(key, post, at);
  try {
    const place = await api.post(target, message, notice.id);
    await kept.set(key, { ...post, place }, at);
  } catch (error) {
    // Where Slack said that it did nothing, there is nothing to look for before the next try.
    if (error instanceof CountersignError && error.data['isRefused'] === true)
      await kept.set(key, undefined, at);
    throw error;
  }
}

async function postTest(
  notice: Notice,
  target: string,
  { api, page, rules }: { api: SlackApi; page: string; rules: Parameters<typeof messageOf>[2] },
): Promise<void> {
  await api.post(target, messageOf(notice, { page, target }, rules), notice.id);
}
