import { createHmac } from 'node:crypto';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import type { Countersign } from '../client/countersign';
import { CountersignError } from '../contract/errors';
import { LIMITS } from '../contract/limits';
import type { FileRef } from '../contract/session/files';
import { drawSecret, sameDigest } from './auth/secrets';
import type { AppDeps, SentFiles } from './deps';
import { fewAtOnce } from './auth/few-at-once';
import { readBodyBytes } from './request-body';
import { type Env, checkConverse } from './session';

/**
 * Makes the file store of the web inbox. Undefined if the client has no store. The proofs belong to this process, so
 * files have to be sent again after a restart.
 */
export function createSentFiles(store: ReturnType<Countersign['files']>): SentFiles | undefined {
  if (store === undefined) return undefined;
  const key = drawSecret();
  const proofOf = (user: string, { digest, mediaType, size, name }: FileRef) =>
    createHmac('sha256', key)
      .update(JSON.stringify([user, digest, mediaType, size, name]))
      .digest('hex');
  return {
    async put(user, given) {
      const file = await store.put(given);
      return { file, proof: proofOf(user, file) };
    },
    take: (user, sent) =>
      sent.map(({ file, proof }) => {
        if (sameDigest(proof, proofOf(user, file))) return file;
        throw new CountersignError(
          'usage',
          `you did not send the file ${file.name} to this web inbox`,
          'remove it, and attach it again; the web inbox may have started anew',
        );
      }),
  };
}

/** The most files of one user that may arrive at the same time. Each file is in memory until it is complete. */
const AT_ONCE = 4;

/**
 * The route that takes the files of messages, one file in each request. No route ever sends a file out. The page shows
 * only names and sizes.
 */
export function fileRoutes({ files }: Pick<AppDeps, 'files'>): Hono<Env> {
  return new Hono<Env>().post('/', requireConverse, fewAtOnce(AT_ONCE, 'files'), async (c) => {
    if (files === undefined) throw noStore();
    const name = nameIn(c);
    return c.json(await files.put(c.get('who').user, { name, bytes: await bytesIn(c) }), 201);
  });
}

/** The error for a web inbox without a file store. */
export function noStore(): CountersignError {
  return new CountersignError(
    'usage',
    'there is no store for the files of a message',
    'whoever runs the web inbox sets COUNTERSIGN_FILES to the store that the workers use',
  );
}

/** The name of the file, percent-encoded in a separate header, because proxies write addresses into their logs. */
function nameIn(c: Context) {
  try {
    return decodeURIComponent(c.req.header('file-name') ?? '');
  } catch {
    throw new CountersignError('usage', 'the name of the file is not percent-encoded UTF-8');
  }
}

/** The content type of a file. A form of another site cannot send this type. */
const TYPE = 'application/octet-stream';

async function bytesIn(c: Context): Promise<Uint8Array> {
  if (c.req.header('content-type') !== TYPE)
    throw new CountersignError('usage', `a file has to be sent as ${TYPE}, and its name as file-name`);
  return readBodyBytes(c, { bytes: LIMITS.fileBytes, what: 'file' });
}

/**
 * Accepts only people who may start turns in conversations, because a turn in a conversation runs tool calls. @throws
 * CountersignError `not_allowed`.
 */
const requireConverse: MiddlewareHandler<Env> = async (c, next) => {
  checkConverse(c);
  await next();
};
