import { AwsClient } from 'aws4fetch';
import { CountersignError } from '../contract/errors';
import { outgoingFetch } from '../system/proxies';
import type { StorePlace } from './folder';
import { readAtMost } from '../system/read-at-most';

/** The longest time that one request may take. */
const REQUEST_MS = 60_000;

/**
 * A bucket of S3, or of another server that speaks S3's protocol and that `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`
 * names. Keys and region come from AWS's own variables.
 *
 * @throws CountersignError `config_invalid` if a variable is missing or wrong.
 */
export function s3Place(
  { bucket, prefix }: { bucket: string; prefix: string },
  env: NodeJS.ProcessEnv,
): StorePlace {
  const client = new AwsClient({
    accessKeyId: setting(env, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: setting(env, 'AWS_SECRET_ACCESS_KEY'),
    sessionToken: env['AWS_SESSION_TOKEN'] ? env['AWS_SESSION_TOKEN'] : undefined,
    region: regionOf(env),
    service: 's3',
  });
  const root = rootOf(bucket, env);
  const send = async (key: string, init: { method: string; body?: Uint8Array<ArrayBuffer> }) => {
    const options = { ...init, redirect: 'manual', signal: AbortSignal.timeout(REQUEST_MS) } as const;
    return outgoingFetch(await client.sign(`${root}/${prefix}${key}`, options));
  };
  return {
    async read(key, most) {
      const response = await send(key, { method: 'GET' });
      if (response.status === 404) {
        // The bucket itself may be missing: then no file is ever found.
        const text = await response.text();
        if (text.includes('NoSuchBucket')) throw new Error(`there is no bucket ${bucket}`);
        return undefined;
      }
      await requireOk(response);
      return readAtMost(response.body ?? [], most);
    },
    async write(key, bytes) {
      const response = await send(key, { method: 'PUT', body: new Uint8Array(bytes) });
      await requireOk(response);
      await response.body?.cancel();
    },
  };
}

function setting(env: NodeJS.ProcessEnv, name: string) {
  const value = env[name];
  if (value) return value;
  throw new CountersignError(
    'config_invalid',
    `files in S3 need ${name}, which is not set`,
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT_URL_S3 where the server is not AWS.',
  );
}

function regionOf(env: NodeJS.ProcessEnv) {
  return env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1';
}

/** The URL of a bucket, with the bucket in the path: not every server has a host name for each bucket. */
function rootOf(bucket: string, env: NodeJS.ProcessEnv) {
  const endpoint = env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'];
  if (!endpoint) return `https://s3.${regionOf(env)}.amazonaws.com/${bucket}`;
  if (URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol))
    return `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  throw new CountersignError(
    'config_invalid',
    'the endpoint of S3 is not an http(s) URL',
    'Write AWS_ENDPOINT_URL_S3 like https://minio.example.com',
  );
}

async function requireOk(response: Response) {
  if (response.ok) return;
  // We read the code only, such as `<Code>AccessDenied</Code>`: the rest of the text repeats the request.
  const [, code = ''] = /<Code>(\w{1,64})<\/Code>/.exec((await response.text()).slice(0, 4096)) ?? [];
  throw new Error(`the server of S3 answered ${response.status}${code === '' ? '' : ` ${code}`}`);
}
