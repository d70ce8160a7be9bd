import type { ApiError, PushMessage } from '../server/api';
import { readSession, sendDecision, showUser } from './http';
import { waitsText } from '../contract/text/waits';

/** The service worker's own scope, which the types of pages do not have. */
interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface PushEvent extends WorkerEvent {
  data: { json(): PushMessage } | null;
}
interface ClickEvent extends WorkerEvent {
  action: string;
  notification: Notification;
}
interface Tab {
  url: string;
  focus(): Promise<unknown>;
  navigate(url: string): Promise<unknown>;
}
interface Clients {
  claim(): Promise<void>;
  matchAll(options: { type: 'window'; includeUncontrolled: boolean }): Promise<Tab[]>;
  openWindow(url: string): Promise<unknown>;
}
interface Shown extends NotificationOptions {
  /** Whether the notification makes a sound again if it replaces another one. */
  renotify?: boolean;
  actions?: { action: Action; title: string }[];
  data: PushMessage;
}
declare const self: {
  registration: ServiceWorkerRegistration;
  clients: Clients;
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', take: (event: WorkerEvent) => void): void;
  addEventListener(type: 'message', take: (event: WorkerEvent & { data: unknown }) => void): void;
  addEventListener(type: 'push', take: (event: PushEvent) => void): void;
  addEventListener(type: 'notificationclick', take: (event: ClickEvent) => void): void;
};

type Action = 'approve' | 'deny' | 'confirm' | 'back';

const UNREADABLE: PushMessage = {
  user: '',
  tag: 'countersign',
  title: 'Countersign',
  text: 'Something waits in the web inbox.',
  place: '#/',
  turn: '',
  callId: '',
  tool: '',
  agent: '',
  what: '',
};

self.addEventListener('install', (event) => event.waitUntil(self.skipWaiting()));
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('push', (event) => event.waitUntil(show(read(event))));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(take(event.action, event.notification.data));
});
// The page sends this message when a person signs out. The browser then no longer notifies them.
self.addEventListener('message', (event) => {
  if (event.data === 'signed-out') event.waitUntil(leave());
});

/**
 * Reads a message. A browser requires that each message shows a notification, so even an unreadable message has a text.
 */
function read({ data }: PushEvent): PushMessage {
  try {
    return data?.json() ?? UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

function show(message: PushMessage, extra: Partial<Shown> = {}, title = message.title) {
  const { text: body, tag, seen, isOver } = message;
  const options: Shown = {
    body,
    tag,
    icon: 'icon.png',
    data: message,
    silent: isOver === true,
    renotify: isOver !== true,
    actions: seen && buttons('approve', 'Approve', 'deny', 'Deny'),
    ...extra,
  };
  return self.registration.showNotification(title, options);
}

function buttons(yes: Action, yesText: string, no: Action, noText: string) {
  return [
    { action: yes, title: yesText },
    { action: no, title: noText },
  ];
}

async function take(action: string, message: PushMessage) {
  // A single touch could be a mistake, so it must not approve anything.
  if (action === 'approve')
    return show(
      message,
      { actions: buttons('confirm', 'Yes, approve', 'back', 'Back'), requireInteraction: true },
      `Approve this? ${message.tool} (${message.agent})`,
    );
  if (action === 'back') return show(message);
  if (action === 'confirm') return decide('approved', message);
  return action === 'deny' ? decide('denied', message) : open(message.place);
}

/**
 * Decides like the page: over the same route, with the digest of the request that was shown, and as the person who is
 * signed in.
 */
async function decide(decision: 'approved' | 'denied', message: PushMessage) {
  const { callId, seen, turn, user, what } = message;
  if (seen === undefined) return open(message.place);
  const why = await whyNot(user);
  if (why !== undefined) return refuse(message, why);
  // Somebody else may sign in between the question who is signed in and this.
  showUser(user);
  const decisionId = `push-${crypto.randomUUID()}`;
  const reply = await sendDecision(turn, { callId, decision, decisionId, ...seen });
  if (!reply.ok && reply.status === 0)
    return refuse(message, 'No answer came, so it may have counted or not. Look at it in the web inbox.');
  if (!reply.ok) return refuse(message, said(reply.error));
  const answer = reply.data;
  if (answer.status === 'refused') return refuse(message, answer.verdict.message);
  const text = waitsText(answer) ?? 'Your decision counts.';
  const done = decision === 'approved' ? 'Approved' : 'Denied';
  return show(without({ ...message, title: `${done}: ${what}`, text, isOver: true }));
}

/**
 * Why nothing can be decided. The person who was notified may have signed out since, and another person may be signed
 * in.
 */
async function whyNot(user: string): Promise<string | undefined> {
  showUser(undefined);
  const reply = await readSession();
  if (reply.ok)
    return reply.data.user === user
      ? undefined
      : `This was for ${user}, and ${reply.data.user} is signed in here. Decide it in the page.`;
  if (reply.status === 0) return 'The web inbox does not answer. Nothing was sent.';
  return reply.status === 401
    ? 'Nobody is signed in here any more. Sign in, and decide it in the page.'
    : said(reply.error);
}

function said({ message, hint }: ApiError) {
  return hint === undefined ? message : `${message} (${hint})`;
}

/** Shows that nothing was decided, and opens the page, where the person can decide. */
async function refuse(message: PushMessage, why: string) {
  const refused = without({ ...message, title: `Not decided: ${message.what}`, text: why });
  await show(refused, { requireInteraction: true });
  await open(message.place).catch(() => undefined);
}

function without({ seen: _, ...message }: PushMessage): PushMessage {
  return message;
}

/** Opens a place of the page in an open tab, or in a new tab. */
async function open(place: string) {
  const url = new URL(place, self.registration.scope).href;
  const tabs = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  for (const tab of tabs) {
    try {
      await tab.navigate(url);
    } catch {
      // The tab belongs to another service worker, or it is closing.
      continue;
    }
    // Browsers allow `focus` only after a click.
    await tab.focus().catch(() => undefined);
    return;
  }
  await self.clients.openWindow(url);
}

async function leave() {
  const subscription = await self.registration.pushManager.getSubscription();
  await subscription?.unsubscribe();
  for (const shown of await self.registration.getNotifications()) shown.close();
}
