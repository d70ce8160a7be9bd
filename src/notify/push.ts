import { z } from 'zod';
import type { Approvers } from '../authority/rules/approvers-file';
import type { Countersign } from '../client';
import { isAtLeast } from '../authority/rules/permits';
import { digestText } from '../contract/digest';
import { CountersignError, usageError } from '../contract/errors';
import { type CallView, waitingEvent } from '../history/view-types';
import type { PushMessage } from '../server/api';
import { subscriptionId } from '../server/push/subscription';
import { escapeText } from '../contract/text/escape';
import { cut } from '../contract/text/columns';
import { pushToBrowser } from './browsers';
import { type Room, wholeText } from '../history/whole-text';
import { whyOnlyLink } from './buttons';
import { titleIn } from '../contract/text/call-title';
import { headingOf, inboxPathOf, namesOf } from './mail-text';
import {
  type Correction,
  keptNotice,
  type Notice,
  noticeForm,
  type Receiver,
  notifyFailure,
} from './notices';
import { lookAgain } from './decided-line';
import { isPair, type PushKeys } from './push-keys';
import { KEEP_MS, type Kept, openKept } from './sent';
import { decidersOf } from './voters';
import { SECOND } from '../contract/limits';
import { installedVersion } from '../system/installed-version';

/** The settings of notifications in browsers. */
interface PushSettings extends Pick<Parameters<typeof pushToBrowser>[0], 'subscriptions' | 'privateHosts'> {
  keys: PushKeys & { subject: string };
  client: Pick<Countersign, 'view'>;
  approvers(): Promise<Approvers>;
  /** The person who gets a test message, by their name in the approvers file. */
  tester?: string;
  /** The file that keeps the messages that were sent. Absent: the messages are kept only in memory. */
  postsFile?: string;
  note(line: string): void;
}

const pushedForm = z.strictObject({
  /** The last notice about the call. */
  notice: noticeForm,
  /** The browser: the id of its subscription. */
  target: z.string(),
  /** The user who got the message. Somebody else may sign in with the same browser later. */
  user: z.string(),
  /** When the message was sent, in milliseconds since 1970. */
  at: z.number(),
  /** The time since which the call waits, according to history. */
  asked: z.string(),
});

/** A message that a browser may still show as waiting. */
type Pushed = z.output<typeof pushedForm>;

/** The key of a message. A call has one key for each browser, because a later message replaces an earlier one. */
function pushedKey({ data: { turn, callId } }: Pick<Notice, 'data'>, target: string) {
  return digestText(`${turn}/${callId} ${target}`).slice(0, 32);
}

/** Opens the messages about calls that may still wait. */
function openPushed(file: string | undefined) {
  return openKept(file, { value: pushedForm, isOld: ({ at }, now) => now - at > KEEP_MS });
}

const PACKAGE = 'web-push';

/**
 * A receiver for web push. It notifies the browsers of the people who may decide.
 *
 * @throws CountersignError `not_installed`; `usage` if the private key does not belong to the public key.
 */
export async function createPush(settings: PushSettings): Promise<Receiver> {
  const { keys, subscriptions, tester, postsFile } = settings;
  if (!isPair(keys))
    throw usageError(
      'the key of web push is not the one of `publicKey`',
      'Browsers are bound to the public key. Name the private key that was made with it.',
    );
  if (installedVersion(PACKAGE)?.startsWith('3.') !== true)
    throw new CountersignError(
      'not_installed',
      `a channel of web push needs ${PACKAGE}@3`,
      `Run: npm install ${PACKAGE}@3`,
    );
  // The package is CommonJS, and Node finds no named exports in it.
  const { default: webPush } = await import('web-push');
  const seal = webPush.generateRequestDetails;
  let opened: Promise<Kept<Pushed>> | undefined;
  // The file is opened late, because another process may hold it until then.
  const pushed = () => (opened ??= openPushed(postsFile));
  const board = { ...settings, seal, pushed, lookedAt: new Map<string, number>() };
  return {
    name: 'web push',
    targetsOf: async (notice) => {
      const { decides } = await deciders(settings, notice);
      const all = (await subscriptions.list()).filter(({ user }) => decides(user));
      // Only for a test is it an error if nobody has such a browser: notifications are voluntary.
      if (notice.type === 'test' && all.length === 0)
        throw notifyFailure(`${tester ?? 'you'} has no browser that is notified`);
      return all.map(subscriptionId);
    },
    deliver: (notice, signal, target = '') => deliver(board, { notice, signal, target }),
    outdated: (open, now) => outdated(board, open, now),
    check: async () => {
      const all = await subscriptions.list();
      const people = new Set(all.map(({ user }) => user)).size;
      return `notifies ${all.length} browsers of ${people} people; a test tries them: countersign doctor --send`;
    },
  };
}

/** The call of a notice with today's file, and which users may decide on it. */
async function deciders({ approvers, client, tester }: PushSettings, notice: Notice) {
  const found = await decidersOf(notice, { approvers, client, tester });
  const { file, names } = found;
  return { ...found, decides: (user: string) => names.includes(file.personOf(user) ?? '') };
}

interface Board extends PushSettings, Pick<Parameters<typeof pushToBrowser>[0], 'seal'> {
  pushed(): Promise<Kept<Pushed>>;
  /** The times at which waiting calls were last looked at, by the key of their message. */
  lookedAt: Map<string, number>;
}

interface Delivery {
  notice: Notice;
  target: string;
  signal: AbortSignal;
}

async function deliver(board: Board, { notice, target, signal }: Delivery) {
  const { subscriptions, pushed } = board;
  const subscription = subscriptions.get(target);
  // The subscription ended in the meantime.
  if (subscription === undefined) return;
  const { user } = subscription;
  const { file, call, decides } = await deciders(board, notice);
  // Somebody else may have signed in with this browser in the meantime.
  if (!decides(user)) return;
  const mayDecide = isAtLeast(file.permitOf(user).role, 'approver');
  const about = { subscription, signal, seconds: secondsOf(notice), urgency: 'high' } as const;
  if (notice.type === 'test')
    return pushToBrowser(board, { ...about, message: pushOf(notice, { user, mayDecide }) });
  const asked = call && waitingEvent(call)?.at;
  // The call was decided in the meantime.
  if (call === undefined || asked === undefined) return;
  await pushToBrowser(board, { ...about, message: pushOf(notice, { user, mayDecide }, call) });
  const at = Date.now();
  await (
    await pushed()
  ).set(pushedKey(notice, target), { notice: keptNotice(notice), target, user, at, asked }, at);
}

const DAY = 24 * 3600;
const LONGEST = 7 * DAY;
const SHORTEST = 60;

/** How long a push service keeps the notice for a browser that is not connected, in seconds. */
function secondsOf({ data: { deadline } }: Notice) {
  if (deadline === null) return LONGEST;
  const left = Math.ceil((Date.parse(deadline) - Date.now()) / SECOND);
  return Math.min(LONGEST, Math.max(SHORTEST, left));
}

/** The least time between two looks at a call that still waits. */
const LOOK_MS = 60 * SECOND;

async function outdated(board: Board, open: readonly Notice[], now: number): Promise<readonly Correction[]> {
  const waits = new Set(open.map(({ data: { turn, callId } }) => `${turn}/${callId}`));
  const kept = await board.pushed();
  return kept.entries().flatMap(
    ([
      key,
      {
        notice: { data },
      },
    ]) => {
      const call = `${data.turn}/${data.callId}`;
      if (waits.has(call) || now - (board.lookedAt.get(key) ?? -LOOK_MS) < LOOK_MS) return [];
      const act = async (signal: AbortSignal) => {
        if (!(await correct(board, key, signal))) board.lookedAt.set(key, now);
      };
      return [{ key: `change ${key}`, about: `change of ${call}`, act }];
    },
  );
}

/** Replaces a message about a call by a message that says how the call ended. False: the call still waits. */
async function correct(board: Board, key: string, signal: AbortSignal): Promise<boolean> {
  const { subscriptions, client, pushed, lookedAt } = board;
  const kept = await pushed();
  const one = kept.get(key);
  if (one === undefined) return true;
  const { over } = await lookAgain(client, one);
  if (over === undefined) return false;
  const subscription = subscriptions.get(one.target);
  if (subscription?.user === one.user) {
    const message = overPush(one.notice, subscription.user, over);
    await pushToBrowser(board, { message, subscription, signal, seconds: DAY, urgency: 'normal' });
  }
  lookedAt.delete(key);
  await kept.set(key, undefined, Date.now());
  return true;
}

/** The text that every system shows of a notification. Some systems show more. */
const ROOM = { characters: 120, lines: 3, indent: 0 };
const TITLE_WIDTH = 60;
/** Names over this length are cut, and nothing can be decided without them in the notification. */
const NAMES_WIDTH = 60;
const NAME_WIDTH = 60;
const OVER_WIDTH = 200;

/**
 * The tag of a call: 32 hex digits. With it, a push service replaces an older message and a browser an older
 * notification.
 */
export function tagOf({ type, id, data: { turn, callId } }: Pick<Notice, 'type' | 'id' | 'data'>): string {
  return digestText(type === 'test' ? id : `${turn}/${callId}`).slice(0, 32);
}

/** The user whom a message is for, and whether the user may decide. */
interface PushReader {
  user: string;
  mayDecide: boolean;
}

/**
 * A notice as a message. It names only the tool, the agent and a summary, unless the call can be decided in the
 * notification.
 */
export function pushOf(notice: Notice, { user, mayDecide }: PushReader, call?: CallView): PushMessage {
  const { request } = call ?? {};
  const title = headingOf(notice, TITLE_WIDTH);
  const names = notice.type === 'test' ? '' : namesOf(notice);
  const room = { ...ROOM, characters: ROOM.characters - names.length - 1 };
  const why = whyElsewhere(notice, names, { mayDecide, request, room });
  const { turn, callId } = notice.data;
  const about = { user, tag: tagOf(notice), place: inboxPathOf(notice), turn, callId, ...shortNames(notice) };
  if (why === undefined && request) {
    const { seenDigest = '', callKey } = request;
    const text = [names, ...wholeText(request, room).lines].join('\n');
    return { ...about, title, text, seen: { seenDigest, callKey } };
  }
  const what = cut(escapeText(titleIn(notice.data)), ROOM.characters);
  const said = [what, cut(names, NAMES_WIDTH), why ?? ''].filter((line) => line !== '');
  return { ...about, title, text: said.join('\n') };
}

function whyElsewhere(
  notice: Notice,
  names: string,
  { mayDecide, request, room }: { mayDecide: boolean; request: CallView['request']; room: Room },
): string | undefined {
  if (names.length > NAMES_WIDTH)
    return 'Its name is too long to be shown whole: decide it in the web inbox.';
  return whyOnlyLink(notice, request, { isHeard: mayDecide, isSigned: true, room });
}

/** The message that replaces an earlier message when its call no longer waits. */
export function overPush(
  notice: Pick<Notice, 'id' | 'type' | 'data'>,
  user: string,
  over: string,
): PushMessage {
  const { turn, callId } = notice.data;
  return {
    user,
    tag: tagOf(notice),
    place: inboxPathOf(notice),
    turn,
    callId,
    ...shortNames(notice),
    title: cut(`No longer waits: ${escapeText(titleIn(notice.data))}`, TITLE_WIDTH),
    text: cut(escapeText(over), OVER_WIDTH),
    isOver: true,
  };
}

function shortNames({ data }: Pick<Notice, 'data'>): Pick<PushMessage, 'tool' | 'agent' | 'what'> {
  const [tool, agent, what] = [data.tool, data.agent, titleIn(data)].map((text) =>
    cut(escapeText(text), NAME_WIDTH),
  );
  return { tool: tool ?? '', agent: agent ?? '', what: what ?? '' };
}
