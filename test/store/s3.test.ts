import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openFileStore } from '../../src/store';
import type { FileStore } from '../../src/store/stored-file';
import { startS3 } from './s3-server';

const account = { accessKeyId: 'ours', secretAccessKey: 'a secret' };
let server: Awaited<ReturnType<typeof startS3>>;

beforeEach(async () => {
  server = await startS3({ ...account, bucket: 'files' });
});
afterEach(() => server.close());

const open = (place: string, at = server.url, secret = account.secretAccessKey): FileStore => {
  const { accessKeyId: AWS_ACCESS_KEY_ID } = account;
  const env = { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: secret, AWS_ENDPOINT_URL_S3: at };
  const store = openFileStore(place, { env });
  if (store === undefined) throw new Error('no store');
  return store;
};

const bytes = Buffer.from([...Array(100_000).keys()].map((n) => n % 256));
const file = { name: 'numbers.bin', bytes };

it.each(['s3://files', 's3://files/agents/eu', 's3://files/agents/'])('keeps files in %s', async (place) => {
  const ref = await open(place).put(file);
  expect(ref.digest).toBe(createHash('sha256').update(bytes).digest('hex'));
  expect(await open(place).get(ref)).toEqual({ bytes });
});

it('says of a file that is not there that it is not', async () => {
  const ref = await open('s3://files/a').put(file);
  expect(await open('s3://files/b').get(ref)).toEqual({ lack: 'it is not in the store of files' });
});

it('says that there is no such bucket', async () => {
  const ref = await open('s3://files').put(file);
  await expect(open('s3://other').get(ref)).rejects.toMatchObject({
    code: 'file_failed',
    message: 'the store of files cannot be read: there is no bucket other',
  });
  await expect(open('s3://other').put(file)).rejects.toMatchObject({
    code: 'file_failed',
    message: 'the store of files cannot be written: the server of S3 answered 404 NoSuchBucket',
  });
});

it('signs each request with its key', async () => {
  await expect(open('s3://files', server.url, 'another').put(file)).rejects.toMatchObject({
    message: 'the store of files cannot be written: the server of S3 answered 403 SignatureDoesNotMatch',
  });
});

describe('a server that', () => {
  const answering = async (
    status: number,
    headers: Record<string, string>,
    body: string,
  ): Promise<unknown> => {
    const other = createServer((_request, response) => void response.writeHead(status, headers).end(body));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = other.address() as AddressInfo;
      return await open('s3://files', `http://127.0.0.1:${port}`).get(await open('s3://files').put(file));
    } catch (error) {
      return error;
    } finally {
      other.closeAllConnections();
      other.close();
    }
  };

  it.each<[string, number, Record<string, string>, string, string]>([
    ['refuses', 403, {}, '<Error><Code>AccessDenied</Code></Error>', 'answered 403 AccessDenied'],
    ['sends elsewhere', 307, { location: 'http://192.0.2.1/' }, '', 'answered 307'],
    ['is broken', 500, {}, 'x'.repeat(100_000), 'answered 500'],
  ])('%s is not believed', async (_what, status, headers, body, message) => {
    expect(await answering(status, headers, body)).toMatchObject({
      code: 'file_failed',
      message: `the store of files cannot be read: the server of S3 ${message}`,
    });
  });

  it.each([
    ['gives other bytes', 'x'.repeat(100_000), 'its bytes in the store are not those that were sent'],
    ['gives without end', 'x'.repeat(12 * 1024 * 1024), 'it is not in the store of files'],
  ])('%s is not believed', async (_what, body, lack) => {
    expect(await answering(200, {}, body)).toEqual({ lack });
  });
});
