import { Button } from '../ui/widgets';
import { useEffect, useState } from 'preact/hooks';
import type { PushPlace } from '../../server/api';
import { base64url, send } from '../http';
import { errorText } from '../model/labels';

/**
 * The API for script addresses. With a strict policy, a page names the addresses from which scripts may be loaded. This
 * page has one such address.
 */
declare const trustedTypes:
  { createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptUrls } | undefined;
interface ScriptUrls {
  createScriptURL(url: string): string;
}

/** The address is kept, because a policy can be made only once. */
let made: string | undefined;

function workerUrl() {
  const rules: ScriptUrls = { createScriptURL: () => 'push-worker.js' };
  const policy =
    typeof trustedTypes === 'undefined' ? rules : trustedTypes.createPolicy('countersign', rules);
  return (made ??= policy.createScriptURL(''));
}

const UNABLE =
  'This browser cannot notify you here. It has to know web push, and the page has to be opened by https. On an iPhone or iPad, add this page to the home screen first, and open it from there.';
const REFUSED =
  'This browser does not let this page notify you. Allow notifications for this address in the settings of the browser, and open this screen again.';

/** Whether the browser supports notifications at all. */
function isAble() {
  return 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;
}

async function current(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The answer of the server, which says whether it notifies this browser; or a problem. */
interface Standing {
  place?: PushPlace;
  problem?: string;
}

async function look(): Promise<Standing> {
  const subscription = isAble() ? await current() : null;
  const query = subscription === null ? '' : `?browser=${await digestOf(subscription.endpoint)}`;
  const reply = await send<PushPlace>('GET', `api/push${query}`);
  return reply.ok ? { place: reply.data } : { problem: errorText(reply.error) };
}

/** @returns A text for the person if something went wrong. */
async function start({ publicKey }: PushPlace): Promise<string | undefined> {
  if ((await Notification.requestPermission()) !== 'granted') return REFUSED;
  await navigator.serviceWorker.register(workerUrl());
  const { pushManager } = await navigator.serviceWorker.ready;
  const old = await pushManager.getSubscription();
  // A subscription of a browser is bound to the key with which it was made.
  if (old !== null && base64url(old.options.applicationServerKey) !== publicKey) await old.unsubscribe();
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: publicKey,
  });
  const reply = await send('POST', 'api/push', { body: subscription });
  return reply.ok ? undefined : errorText(reply.error);
}

async function stop(): Promise<string | undefined> {
  const subscription = await current();
  if (subscription === null) return undefined;
  const { endpoint } = subscription;
  const reply = await send('DELETE', 'api/push', { body: { endpoint } });
  if (!reply.ok) return errorText(reply.error);
  await subscription.unsubscribe();
  return undefined;
}

function whyNot(error: unknown): string {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError') return REFUSED;
  return 'The browser could not reach its push service. Try again later, or use another browser.';
}

/** The screen on which a person lets this browser notify them. */
export function PushScreen() {
  const [{ place, problem: known }, setStanding] = useState<Standing>({});
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const refresh = () => look().then(setStanding);
  useEffect(() => void refresh(), []);
  const act = async (work: () => Promise<string | undefined>) => {
    setBusy(true);
    setProblem(undefined);
    setProblem(await work().catch(whyNot));
    await refresh();
    setBusy(false);
  };
  return (
    <section class="turns" aria-labelledby="push-title">
      <h1 id="push-title" class="pane-title">
        Notifications
      </h1>
      <p>This browser can say when something waits for your decision, also while this page is closed.</p>
      <p role="alert" class="problem">
        {isAble() ? (problem ?? known) : UNABLE}
      </p>
      {place && isAble() && (
        <>
          <p role="status" id="push-state">
            {place.isNotified ? 'This browser notifies you.' : 'This browser does not notify you.'}
          </p>
          <Button
            look={place.isNotified ? '' : 'primary'}
            aria-disabled={isBusy}
            onClick={() => isBusy || void act(place.isNotified ? stop : () => start(place))}
          >
            {place.isNotified ? 'Stop' : 'Notify me in this browser'}
          </Button>
        </>
      )}
      <p class="quiet">
        A notification names the tool and the agent, and shows the arguments only where you may decide it
        there. Signing out ends it.
      </p>
      <a href="#/">Inbox</a>
    </section>
  );
}
