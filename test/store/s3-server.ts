import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Whose requests the server takes, for the one bucket that it has. */
interface Account {
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** A server of S3, as far as a store of files uses one. It checks signatures as AWS describes them (version 4). */
export const startS3 = async (account: Account): Promise<{ url: string; close: () => void }> => {
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => void answer(request, response, { account, objects }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, close };
};

interface Kept {
  account: Account;
  objects: Map<string, Buffer>;
}

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  { account, objects }: Kept,
): Promise<void> => {
  const body = await buffer(request);
  const { method, url = '' } = request;
  const refuse = (status: number, code: string): unknown =>
    response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
  if (!isSigned(request, account)) return void refuse(403, 'SignatureDoesNotMatch');
  if (!url.startsWith(`/${account.bucket}/`)) return void refuse(404, 'NoSuchBucket');
  if (method === 'PUT') objects.set(url, body);
  const object = objects.get(url);
  if (object === undefined) return void refuse(404, 'NoSuchKey');
  response.writeHead(200).end(method === 'GET' ? object : '');
};

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const isSigned = (request: IncomingMessage, { accessKeyId, secretAccessKey }: Account): boolean => {
  const { headers, method = '', url = '' } = request;
  const form = /^AWS4-HMAC-SHA256 Credential=(\w+)\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/;
  const [, id, scope = '', names = '', signature] = form.exec(headers.authorization ?? '') ?? [];
  const [path = '', query = ''] = url.split('?');
  const signed = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [method, path, query, signed.join(''), names, headers['x-amz-content-sha256']].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, digest].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  return id === accessKeyId && hmac(key, text).toString('hex') === signature;
};
