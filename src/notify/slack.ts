import type { Approvers } from '../authority/rules/approvers-file';
import type { Countersign } from '../client';
import { CountersignError } from '../contract/errors';
import { waitingEvent } from '../history/view-types';
import type { InboxSigner } from '../server/signer';
import type { ButtonRules } from './buttons';
import { type Correction, keptNotice, type Notice, type Receiver } from './notices';
import { lookAgain } from './decided-line';
import type { Kept } from './sent';
import { openSlack, type SlackAccess, type SlackApi } from './slack-api';
import { createClicks } from './slack-clicks';
import { openPosts, type Post, postKey } from './slack-posts';
import { keepListening } from './slack-socket';
import { slackMessage, overMessage } from './slack-text';
import { untilStopped } from '../system/until-stopped';

/** The settings of messages to Slack and of answers from there. */
interface SlackSettings extends SlackAccess {
  /** The address of the web inbox. */
  page: string;
  /** The ids of the channels or people that get a notice. */
  targetsOf(notice: Notice): Promise<readonly string[]>;
  client: Pick<Countersign, 'view'>;
  /** The file that keeps the messages that were posted. Absent: the messages are kept only in memory. */
  postsFile?: string;
  /** Everything that is needed to take clicks. Absent: messages only link to the web inbox. */
  answers?: {
    client: Pick<Countersign, 'view' | 'decide' | 'placeOf'>;
    approvers(): Promise<Approvers>;
    signer?: InboxSigner;
  };
  note(line: string): void;
}

/** The least time between two looks at a call that still waits, in milliseconds. */
const LOOK_MS = 60_000;

/**
 * A receiver that posts messages in Slack. The messages have buttons if there is an app token and `answers` is given.
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
    deliver: (notice, signal, target = '') => untilStopped(signal, deliver(board, notice, target)),
    outdated: (open, now) => outdated(board, open, now),
    check: async (signal) => {
      const { name, teamName } = await untilStopped(signal, api.identify());
      if (appToken === undefined) return `${name} posts in ${teamName}, without buttons`;
      await untilStopped(signal, api.checkSocket());
      return `${name} posts in ${teamName} at ${new URL(page).host}, and hears what is clicked`;
    },
    listen:
      appToken === undefined || answers === undefined
        ? undefined
        : async (signal) => {
            const posts = await board.posts();
            const { signer } = answers;
            const say = (call: { turn: string; callId: string }) => refresh(board, call);
            const clicks = createClicks({ ...answers, api, posts, signer, refresh: say, note });
            const running = new Set<Promise<void>>();
            const take = (body: unknown) => {
              const click = clicks(body).finally(() => running.delete(click));
              running.add(click);
            };
            await keepListening({ open: () => api.openSocket(), take, note, signal });
            // Clicks that arrived before the end are still decided, answered and recorded.
            await Promise.all(running);
          },
  };
}

/** The messages that were posted, and the means to change them. */
interface Board extends Pick<SlackSettings, 'client' | 'page'> {
  api: SlackApi;
  rules: ButtonRules;
  /** The posts are read late, because another process may hold their file until then. */
  posts(): Promise<Kept<Post>>;
  /** The times at which waiting calls were last looked at, by the key of their post. */
  lookedAt: Map<string, number>;
}

function createBoard({ client, page, postsFile, appToken, answers }: SlackSettings, api: SlackApi): Board {
  const isSigned = answers?.signer !== undefined;
  const rules = { isHeard: appToken !== undefined && answers !== undefined, isSigned };
  let opened: Promise<Kept<Post>> | undefined;
  const posts = () => (opened ??= openPosts(postsFile));
  return { client, page, api, rules, posts, lookedAt: new Map() };
}

async function deliver(board: Board, notice: Notice, target: string) {
  const { client, page, api, rules } = board;
  if (notice.type === 'test') {
    await api.post(target, slackMessage(notice, { page, target }, rules), notice.id);
    return;
  }
  const delivery = { notice, target, kept: await board.posts(), api };
  if (await isPosted(delivery)) return;
  const view = await client.view(notice.data.turn);
  const call = view.calls.find(({ callId }) => callId === notice.data.callId);
  const asked = call && waitingEvent(call)?.at;
  // The call was decided in the meantime.
  if (call === undefined || asked === undefined) return;
  const { hasButtons, ...message } = slackMessage(notice, { page, target, view, call }, rules);
  const { seenDigest: digest = '', callKey = '' } = call.request ?? {};
  await postOnce(delivery, { message, asked, seen: hasButtons ? { digest, callKey } : undefined });
}

async function outdated(board: Board, open: readonly Notice[], now: number): Promise<readonly Correction[]> {
  const ids = new Set(open.map(({ id }) => id));
  const posts = (await board.posts()).entries().filter(([key, { notice, over, place }]) => {
    const isShown = place !== undefined && over === undefined;
    return isShown && !ids.has(notice.id) && now - (board.lookedAt.get(key) ?? -LOOK_MS) >= LOOK_MS;
  });
  return posts.map(([key, { notice }]) => ({
    key: `change ${key}`,
    about: `change of ${notice.data.turn}/${notice.data.callId}`,
    act: async (signal: AbortSignal) => {
      if (await untilStopped(signal, correct(board, key))) board.lookedAt.delete(key);
      else board.lookedAt.set(key, now);
    },
  }));
}

/**
 * Brings a message up to date: it shows how its call ended or, while the call waits, the votes. False: the call still
 * waits.
 */
async function correct(
  { posts, client, api, page, rules }: Board,
  key: string,
  isVoted = false,
): Promise<boolean> {
  const kept = await posts();
  const post = kept.get(key);
  if (post?.place === undefined || post.over !== undefined) return true;
  const { place, notice, target } = post;
  const { view, over } = await lookAgain(client, post);
  if (over !== undefined) {
    await api.update(place, overMessage({ notice, over }, page));
    await kept.set(key, { ...post, over }, Date.now());
    return true;
  }
  const call = view?.calls.find(({ callId }) => callId === notice.data.callId);
  if (isVoted && view && call)
    await api.update(place, slackMessage(notice, { page, target, view, call }, rules));
  return false;
}

/** Brings all messages about a call up to date. */
async function refresh(board: Board, { turn, callId }: { turn: string; callId: string }) {
  for (const [key, { notice }] of (await board.posts()).entries())
    if (notice.data.turn === turn && notice.data.callId === callId) await correct(board, key, true);
}

interface Delivery {
  notice: Notice;
  target: string;
  kept: Kept<Post>;
  api: SlackApi;
}

/**
 * Whether the message was already posted. An earlier process may have posted the message and ended before it recorded
 * the place.
 */
async function isPosted({ notice, target, kept, api }: Delivery): Promise<boolean> {
  const key = postKey(notice, target);
  const known = kept.get(key);
  if (known === undefined) return false;
  if (known.place) return true;
  const place = await api.find({ target, notice: notice.id, since: known.at });
  if (place) await kept.set(key, { ...known, place }, Date.now());
  return place !== undefined;
}

async function postOnce(
  { notice, target, kept, api }: Delivery,
  { message, ...about }: Pick<Post, 'asked' | 'seen'> & { message: Parameters<SlackApi['post']>[1] },
) {
  const key = postKey(notice, target);
  const at = Date.now();
  const post: Post = { notice: keptNotice(notice), target, at, ...about };
  await kept.set(key, post, at);
  try {
    const place = await api.post(target, message, notice.id);
    await kept.set(key, { ...post, place }, at);
  } catch (error) {
    // Slack refused the message, so the next attempt need not look for it.
    if (error instanceof CountersignError && error.data['isRefused'] === true)
      await kept.set(key, undefined, at);
    throw error;
  }
}
