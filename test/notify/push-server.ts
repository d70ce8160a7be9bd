import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { PushMessage } from '../../src/server/api';
import type { Subscription } from '../../src/server/push/subscription';

/** A browser that listens at a push service: its own keys, and what they open. */
export interface PushBrowser {
  subscription: Subscription;
  /** What came for it, opened with its keys. */
  messages: Received[];
}

/** One message, as it came and opened. */
export interface Received {
  headers: IncomingHttpHeaders;
  /** What the sender claims of itself, once its signature was verified. */
  claims: { aud: string; exp: number; sub: string };
  message: PushMessage;
}

/** A push service on this machine, as far as one is seen from outside: it takes what is signed, and refuses the rest. */
export interface PushServer {
  url: string;
  browser(): PushBrowser;
  /** Whatever is posted from now on is answered so; undefined: as it should be. */
  answer(status?: number, headers?: Record<string, string>): void;
  /** This browser ended its subscription. */
  end(browser: PushBrowser): void;
  /** How many posts came, refused ones too. */
  posts(): number;
  /** Bodies as they came over the wire. */
  bodies: Buffer[];
  close(): Promise<void>;
}

/** Opens one that takes messages of one signer. */
export async function startPushServer(publicKey: () => string): Promise<PushServer> {
  const browsers = new Map<string, PushBrowser & { open(body: Buffer): string }>();
  const bodies: Buffer[] = [];
  let [posts, status, extra]: [number, number | undefined, Record<string, string>] = [0, undefined, {}];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      posts += 1;
      const body = Buffer.concat(chunks);
      bodies.push(body);
      const browser = browsers.get(request.url ?? '');
      const claims = claimsIn(request.headers.authorization ?? '', publicKey());
      const code = status ?? (browser === undefined ? 410 : claims === undefined ? 403 : 201);
      response.writeHead(code, extra).end();
      if (code !== 201 || browser === undefined || claims === undefined) return;
      const message: PushMessage = JSON.parse(browser.open(body));
      browser.messages.push({ headers: request.headers, claims, message });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    bodies,
    posts: () => posts,
    browser: () => {
      const path = `/send/s3cret-${randomBytes(8).toString('hex')}`;
      const made = newBrowser(`${url}${path}`);
      browsers.set(path, made);
      return made;
    },
    answer: (next, headers = {}) => {
      status = next;
      extra = headers;
    },
    end: ({ subscription }) => void browsers.delete(new URL(subscription.endpoint).pathname),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Keys as a browser draws them. */
export function newBrowser(endpoint: string): PushBrowser & { open(body: Buffer): string } {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  const [own, auth] = [pair.getPublicKey(), randomBytes(16)];
  const keys = { p256dh: own.toString('base64url'), auth: auth.toString('base64url') };
  return {
    subscription: { endpoint, keys },
    messages: [],
    open: (body) => {
      // RFC 8188: salt, size of a record, length of the key's id; RFC 8291: the id is the sender's key.
      const [salt, length] = [body.subarray(0, 16), body[20] ?? 0];
      const sender = body.subarray(21, 21 + length);
      const sealed = body.subarray(21 + length);
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), own, sender]);
      const derived = (ikm: Buffer, from: Buffer, about: Buffer | string, size: number): Buffer =>
        Buffer.from(hkdfSync('sha256', ikm, from, about, size));
      const ikm = derived(pair.computeSecret(sender), auth, info, 32);
      const key = derived(ikm, salt, 'Content-Encoding: aes128gcm\0', 16);
      const nonce = derived(ikm, salt, 'Content-Encoding: nonce\0', 12);
      const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(sealed.subarray(-16));
      const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
      return padded.subarray(0, padded.lastIndexOf(2)).toString('utf8');
    },
  };
}

/** RFC 8292: who signed it; undefined where the signature is not by this key. */
function claimsIn(header: string, publicKey: string): Received['claims'] | undefined {
  const [, token = '', key] = /^vapid t=([^,]+), ?k=([\w-]+)$/.exec(header) ?? [];
  const [head = '', body = '', signature = ''] = token.split('.');
  if (key !== publicKey) return undefined;
  const point = Buffer.from(publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const jwk = { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' };
  const isTrue = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  return isTrue ? JSON.parse(Buffer.from(body, 'base64url').toString()) : undefined;
}
