import { join } from 'node:path';
import type { generateRequestDetails } from 'web-push';
import { errorMessage, usageError } from '../contract/errors';
import { userStateDir } from '../system/files';
import type { PushMessage } from '../server/api';
import { type Push, openSubscriptions } from '../server/push/store';
import { subscriptionId } from '../server/push/subscription';
import { isPrivateHost } from '../tools/http/address';
import { type HostList, hostList } from '../tools/http/hosts';
import { systemLookup } from '../tools/http/send';
import { sendOutside } from '../tools/http/send-outside';
import type { SettingsOf } from './channels-file';
import type { PushKeys } from './push-keys';
import { HOUR, SECOND } from '../contract/limits';
import { notifyFailure } from './notices';

/** The browsers that are notified, and the push services that may be reached. */
interface Browsers {
  subscriptions: Push['subscriptions'];
  /** Push services that may have private addresses. */
  privateHosts: HostList;
  /** Whether this address of a push service may be reached. The name is not resolved for this. */
  mayReach(endpoint: URL): boolean;
}

/**
 * Opens the folder in which the web inbox keeps the browsers. The web inbox and the sender of notices both use it.
 *
 * @throws CountersignError `usage` for an entry of `privateHosts` that does not name a host.
 */
export function openBrowsers(
  { subscriptions, privateHosts }: Pick<SettingsOf<'web-push'>, 'subscriptions' | 'privateHosts'>,
  env: NodeJS.ProcessEnv,
): Browsers {
  const known = hostList('privateHosts', privateHosts, (option, why) =>
    usageError(`\`${option}\` of web push: ${why}`, 'See docs/notifications.md for each kind of channel.'),
  );
  return {
    subscriptions: openSubscriptions(subscriptions ?? join(userStateDir(env), 'push')),
    privateHosts: known,
    mayReach: (endpoint) => known(endpoint) || !isPrivateHost(endpoint),
  };
}

/** Everything that is needed to send messages to browsers. */
interface PushSender extends Pick<Browsers, 'subscriptions' | 'privateHosts'> {
  keys: PushKeys & { subject: string };
  /** Encrypts and signs a message. */
  seal: typeof generateRequestDetails;
  note(line: string): void;
}

/** A message, and the browser that gets it. */
interface Posting {
  message: PushMessage;
  subscription: NonNullable<ReturnType<Push['subscriptions']['get']>>;
  signal: AbortSignal;
  /** How long the push service keeps the message, in seconds. */
  seconds: number;
  urgency: 'high' | 'normal';
}

const POST_MS = 15 * SECOND;
const MOST_ANSWER = 64 * 1024;

/**
 * Sends a message, encrypted for one browser. If the push service says that the subscription has ended, the
 * subscription is removed and the message is dropped.
 */
export async function pushToBrowser(sender: PushSender, posting: Posting): Promise<void> {
  const { subscription, signal: stop } = posting;
  const url = new URL(subscription.endpoint);
  const { headers, body } = sealed(sender, posting);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(POST_MS)]);
  const network = { privateHosts: sender.privateHosts, lookup: systemLookup, maxBytes: MOST_ANSWER, signal };
  const answer = await sendOutside({ method: 'POST', url, headers, body }, network).catch(
    (error: unknown) => {
      // The error's message names the host, but no secret part of the address.
      throw notifyFailure(errorMessage(error));
    },
  );
  const { status } = answer;
  if (status >= 200 && status < 300) return;
  if (status === 404 || status === 410) {
    await sender.subscriptions.remove(subscriptionId(subscription));
    sender.note(`a browser of ${subscription.user} is not notified any more: its push service says so`);
    return;
  }
  const after = Number(answer.headers.find(([name]) => name === 'retry-after')?.[1] ?? 0);
  const said = `${url.host} answered ${status}`;
  if (status === 429 || status >= 500) throw notifyFailure(said, retryIn(after));
  throw notifyFailure(said, { retryInMs: HOUR });
}

function retryIn(seconds: number): Record<string, unknown> {
  return Number.isFinite(seconds) && seconds > 0 ? { retryInMs: Math.min(seconds * SECOND, HOUR) } : {};
}

function sealed(
  { seal, keys: { subject, publicKey, privateKey } }: PushSender,
  { message, subscription, seconds: TTL, urgency }: Posting,
) {
  const made = seal(subscription, JSON.stringify(message), {
    vapidDetails: { subject, publicKey, privateKey },
    contentEncoding: 'aes128gcm',
    TTL,
    urgency,
    topic: message.tag,
  });
  // `send` works out the length of the body itself.
  const headers = Object.entries(made.headers)
    .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
    .filter(([name]) => name !== 'content-length');
  return { headers, body: made.body };
}
