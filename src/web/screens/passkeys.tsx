import { Button } from '../ui/widgets';
import { useEffect, useState } from 'preact/hooks';
import { readJson } from '../../contract/read-json';
import { isJsonObject } from '../../contract/json';
import type {
  ApiError,
  BodyGrantPasskey,
  BodyPasskey,
  PasskeyAsk,
  PasskeyPlace,
  SignedByPasskey,
} from '../../server/api';
import { base64url, send } from '../http';
import { errorText } from '../model/labels';
import { Text, visibleText } from '../ui/text';

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (char) => char.charCodeAt(0));
}

const credential = (id: string): PublicKeyCredentialDescriptor => ({ type: 'public-key', id: bytesOf(id) });

/** The time that the browser waits for the person, in milliseconds. */
const WAIT_MS = 120_000;

/**
 * The error in words for the person. Browsers do not say why a passkey failed, so that a site learns nothing about its
 * visitors.
 */
function whyNot(error: unknown): string {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'InvalidStateError') return 'This device has a passkey of yours that is in the file already.';
  if (name === 'SecurityError') return 'This address is not one at which these passkeys can be used.';
  if (name === 'NotAllowedError') return 'It was given up, took too long, or there is no such passkey here.';
  return 'This browser cannot use passkeys here.';
}

/** The parts of a statement that a person reads before they sign it, in this order. */
const SHOWN = {
  tool: 'Tool',
  agent: 'Agent',
  workflowId: 'Turn',
  callKey: 'Call',
  decision: 'Decision',
  narrowing: 'Arguments',
  times: 'Calls',
  until: 'Ends',
  reason: 'Reason',
  approver: 'Signed by',
  by: 'Given by',
  confirmedBy: 'Confirmed by',
  notAfter: 'Good until',
} as const;

function factsOf(statement: string): [name: string, value: string][] {
  const read = readJson(statement);
  const said = read.ok && isJsonObject(read.value) ? read.value : {};
  return Object.entries(SHOWN).flatMap(([key, name]): [string, string][] => {
    const value: unknown = Reflect.get(said, key);
    if (value === undefined || value === '') return [];
    return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
}

/**
 * Lets the person sign everything that an error of the server asks for with their passkey: first the decision, then the
 * grant. Undefined: the person left one of them unsigned, so nothing may be sent. `what` describes the decision in
 * words.
 */
export async function signAsked(
  { passkey: ask, grantPasskey: grantAsk }: ApiError,
  what: string,
): Promise<(BodyPasskey & BodyGrantPasskey) | undefined> {
  const isBoth = ask !== undefined && grantAsk !== undefined;
  const sign = (one: PasskeyAsk, words: Omit<SignWords, 'leave'>) =>
    signWith(one, { ...words, leave: isBoth ? 'Send neither' : 'Do not send it' });
  const decided = isBoth ? 'Sign 1 of 2: the decision' : 'Sign what you decided';
  const passkey = ask && (await sign(ask, { title: decided, what }));
  if (ask && passkey === undefined) return undefined;
  const allowed = isBoth ? 'Sign 2 of 2: the grant' : 'Sign what you allow';
  const grantPasskey = grantAsk && (await sign(grantAsk, { title: allowed, what: grantAsk.sentence }));
  return grantAsk && grantPasskey === undefined ? undefined : { passkey, grantPasskey };
}

/** The words of a dialog that asks for a signature. */
interface SignWords {
  title: string;
  /** The name of the thing that is signed. */
  what: string;
  /** The label of the button with which the person declines to sign. */
  leave: string;
}

/** Lets the person sign with their passkey after they saw the statement. Undefined: they did not sign. */
function signWith(ask: PasskeyAsk, words: SignWords): Promise<SignedByPasskey | undefined> {
  return new Promise((resolve) => {
    const problem = element('p', { className: 'problem', role: 'alert' });
    const sign = element('button', { className: 'button primary', type: 'button' }, 'Sign with your passkey');
    const leave = element('button', { className: 'button', type: 'button' }, words.leave);
    const title = element('h2', { id: 'sign-title' }, words.title);
    const dialog = element('dialog', { className: 'card' }, title, element('p', {}, visibleText(words.what)));
    dialog.setAttribute('aria-labelledby', 'sign-title');
    const facts = factsOf(ask.statement).map(([name, value]) =>
      element('div', {}, element('dt', {}, name), element('dd', {}, visibleText(value))),
    );
    dialog.append(element('dl', { className: 'facts' }, ...facts), problem);
    dialog.append(element('p', { className: 'buttons' }, leave, sign));
    const end = (signed?: SignedByPasskey) => {
      resolve(signed);
      dialog.remove();
    };
    const act = async () => {
      sign.disabled = true;
      problem.textContent = '';
      try {
        end(await assertion(ask));
      } catch (error) {
        problem.textContent = whyNot(error);
        sign.disabled = false;
      }
    };
    sign.addEventListener('click', () => void act());
    leave.addEventListener('click', () => end());
    dialog.addEventListener('close', () => end());
    document.body.append(dialog);
    dialog.showModal();
    sign.focus();
  });
}

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

async function assertion({ statement, rpId, ids }: PasskeyAsk): Promise<SignedByPasskey> {
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(statement));
  const allowCredentials = ids.map(credential);
  const made = await navigator.credentials.get({
    publicKey: { challenge, rpId, allowCredentials, userVerification: 'required', timeout: WAIT_MS },
  });
  if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAssertionResponse))
    throw new Error();
  const { authenticatorData, clientDataJSON, signature } = made.response;
  const read = readJson(statement);
  const { at, notAfter, until, confirmedAt } = read.ok && isJsonObject(read.value) ? read.value : {};
  const parts = [made.rawId, authenticatorData, clientDataJSON, signature].map(base64url);
  return { assertion: parts.join('.'), at: String(confirmedAt ?? at), notAfter: String(notAfter ?? until) };
}

/** The line of a new passkey, in the form that the approvers file takes. */
async function newLine({ rpId, person, ids }: PasskeyPlace): Promise<string> {
  const made = await navigator.credentials.create({
    publicKey: {
      // Nobody checks the answer to this challenge: the person who adds the line to the file says whose passkey it is.
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      rp: { id: rpId, name: 'Countersign' },
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name: person, displayName: person },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: ids.map(credential),
      authenticatorSelection: { userVerification: 'required', residentKey: 'discouraged' },
      attestation: 'none',
      timeout: WAIT_MS,
    },
  });
  if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAttestationResponse))
    throw new Error();
  const key = made.response.getPublicKey();
  if (key === null) throw new Error();
  return `passkey ${base64url(made.rawId)} ${base64url(key)}`;
}

/**
 * The screen on which a person makes a passkey. The passkey counts once an administrator has added its line to the
 * approvers file.
 */
export function PasskeysScreen() {
  const [place, setPlace] = useState<PasskeyPlace>();
  const [line, setLine] = useState<string>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    void send<PasskeyPlace>('GET', 'api/passkeys').then((reply) =>
      reply.ok ? setPlace(reply.data) : setProblem(errorText(reply.error)),
    );
  }, []);
  const make = (at: PasskeyPlace) => {
    setProblem(undefined);
    newLine(at).then(setLine, (error: unknown) => setProblem(whyNot(error)));
  };
  return (
    <section class="turns" aria-labelledby="passkeys-title">
      <h1 id="passkeys-title" class="pane-title">
        Make a passkey
      </h1>
      <p>With a passkey you sign what you decide. It asks for your finger, your face or a PIN each time.</p>
      <p role="alert" class="problem">
        {problem}
      </p>
      {place && (
        <>
          <p>
            It is for <Text of={place.person} /> at <Text of={place.rpId} />, who has {place.ids.length} in
            the approvers file.
          </p>
          <Button look="primary" onClick={() => make(place)}>
            Make a passkey
          </Button>
        </>
      )}
      {line !== undefined && place !== undefined && (
        <div role="status">
          <p>
            It is made, and counts for nothing yet. Send this line to whoever keeps the approvers file: it
            goes to the <code>passkeys</code> of <Text of={place.person} />.
          </p>
          <pre class="code" id="passkey-line" tabIndex={0}>
            {line}
          </pre>
        </div>
      )}
      <a href="#/decided">Decided by you</a>
    </section>
  );
}
