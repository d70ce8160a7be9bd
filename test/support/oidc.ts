import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { freePorts } from '../../src/engine/server-args';
import { root } from './build';

/** The cookies of a browser at the provider. */
export type Jar = Map<string, string>;

/** A real OpenID provider that runs, and a browser as far as it needs one. */
export interface RunningProvider {
  issuer: string;
  /**
   * Logs in and agrees, or denies, as a person does; also confirms to sign out. The address to which the provider then sends
   * the browser. `jar`: the cookies of a browser that was there before.
   */
  visit(url: string, as: string, act?: 'agree' | 'deny', jar?: Jar): Promise<string>;
  stop(): Promise<void>;
}

export const CLIENT = { clientId: 'inbox', clientSecret: 'the-secret-of-the-inbox' };

/** Starts a provider that knows one client. */
export async function startProvider(redirect: string): Promise<RunningProvider> {
  const [port = 0] = await freePorts(1);
  const script = join(root, 'test', 'support', 'oidc-provider.mjs');
  const child = spawn(process.execPath, [script, String(port), redirect], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('the provider did not start'))),
  ]);
  return {
    issuer: `http://127.0.0.1:${port}`,
    visit,
    stop: async () => {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}

async function visit(
  url: string,
  as: string,
  act: 'agree' | 'deny' = 'agree',
  jar: Jar = new Map(),
): Promise<string> {
  const origin = new URL(url).origin;
  let next: { url: string; body?: URLSearchParams } = { url };
  for (let steps = 0; steps < 20; steps++) {
    const response = await fetch(next.url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
      ...(next.body === undefined ? {} : { method: 'POST', body: next.body }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      jar.set(name, value);
    }
    const to = response.headers.get('location');
    const page = await response.text();
    if (to !== null) {
      const place = new URL(to, next.url);
      if (place.origin !== origin) return place.href;
      next = { url: place.href };
      continue;
    }
    if (act === 'deny') {
      next = { url: `${next.url}/abort` };
      continue;
    }
    const [, action = ''] = /action="([^"]+)"/.exec(page) ?? [];
    const [, prompt = ''] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page) ?? [];
    if (action === '') throw new Error(`the provider showed no form at ${next.url}: ${page.slice(0, 300)}`);
    next = {
      url: new URL(action, next.url).href,
      body: new URLSearchParams({ prompt, login: as, password: 'any', xsrf, logout: 'yes' }),
    };
  }
  throw new Error('the provider never came to an end');
}

/** What an issuer that cannot be trusted answers. */
export interface Rogue {
  issuer: string;
  /** What its id tokens say, over the right content. `undefined` removes. */
  claims: Record<string, unknown>;
  /** What it says of itself, over the right content. */
  metadata: Record<string, unknown>;
  /** Makes the token of its content; by default it is signed with the published key. */
  sign: ((content: JWTPayload) => Promise<string>) | undefined;
  /** Signs with the key that the issuer publishes. */
  signed(content: JWTPayload): Promise<string>;
  /** Signs with a key that it does not publish. */
  forged(content: JWTPayload): Promise<string>;
  stop(): Promise<void>;
}

/** An issuer of real HTTP and real keys whose tokens a test makes wrong. `code` of the redirect is the nonce. */
export async function startRogue(): Promise<Rogue> {
  const [own, other] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')];
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
  const header = { alg: 'RS256', kid: 'k' };
  const signed = (content: JWTPayload) =>
    new SignJWT(content).setProtectedHeader(header).sign(own.privateKey);
  const forged = (content: JWTPayload) =>
    new SignJWT(content).setProtectedHeader(header).sign(other.privateKey);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      void answer(request.url ?? '', new URLSearchParams(Buffer.concat(chunks).toString())).then((body) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(body));
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const rogue: Rogue = {
    ...{ issuer, claims: {}, metadata: {}, sign: undefined, signed, forged },
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  const answer = async (path: string, body: URLSearchParams): Promise<object> => {
    if (path === '/.well-known/openid-configuration') return { ...metadataOf(issuer), ...rogue.metadata };
    if (path === '/keys') return { keys: [jwk] };
    const now = Math.floor(Date.now() / 1000);
    const content: JWTPayload = {
      ...{ iss: issuer, aud: CLIENT.clientId, sub: 'anna', iat: now, exp: now + 300 },
      ...{ nonce: body.get('code') ?? '', email: 'anna@example.com', email_verified: true },
      ...rogue.claims,
    };
    const token = await (rogue.sign ?? signed)(JSON.parse(JSON.stringify(content)));
    return { access_token: 'a', token_type: 'bearer', id_token: token };
  };
  return rogue;
}

const metadataOf = (issuer: string): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
});
