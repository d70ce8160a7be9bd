import { createHmac } from 'node:crypto';
import { spawn } from 'node:child_process';
import type { Notice, Receiver } from './notices';
import { outgoingFetch } from '../system/proxies';
import { causeOf } from '../client/stream-news';
import { readSecretText } from './secrets';
import { usageError } from '../contract/errors';

const POST_MS = 15_000;

/**
 * A receiver that is an HTTP endpoint. Posts are signed as Standard Webhooks defines it: `webhook-id`,
 * `webhook-timestamp`, and `webhook-signature`, which is an HMAC-SHA-256 over `<id>.<timestamp>.<body>`.
 */
export function createWebhook(url: string, secret: Buffer): Receiver {
  return {
    // The path of a webhook is often a password, so only the host is ever named.
    name: new URL(url).host,
    deliver: async (notice, signal) => {
      const body = JSON.stringify(notice);
      const headers = { 'content-type': 'application/json', ...signatureOf(notice.id, body, secret) };
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(POST_MS)]);
      const response = await post(url, { body, headers, signal: timeout });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it answered ${response.status}`);
    },
  };
}

async function post(
  url: string,
  init: { body: string; headers: Record<string, string>; signal: AbortSignal },
): Promise<Response> {
  try {
    // A redirect could lead the signed body anywhere, so a redirect counts as a failure.
    return await outgoingFetch(url, { ...init, method: 'POST', redirect: 'manual' });
  } catch (error) {
    throw new Error(`it could not be reached: ${causeOf(error)}`);
  }
}

function signatureOf(id: Notice['id'], body: string, secret: Buffer): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

const COMMAND_MS = 60_000;

/**
 * A receiver that is a shell command. The command reads the notice as JSON on stdin, and accepts the notice by exit
 * code 0.
 */
export function createCommand(command: string, env: NodeJS.ProcessEnv): Receiver {
  return {
    name: 'the command',
    deliver: (notice, signal) => run(command, `${JSON.stringify(notice)}\n`, env, signal),
  };
}

async function run(command: string, input: string, env: NodeJS.ProcessEnv, signal: AbortSignal) {
  // The command's stderr is progress for a person, so it goes to our own stderr. Its stdout is ignored.
  const child = spawn('sh', ['-c', command], { env, detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  const end = () => endGroup(child.pid);
  const timer = setTimeout(end, COMMAND_MS);
  signal.addEventListener('abort', end, { once: true });
  // A command may end without reading its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const ended = await new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, by) => resolve(by ?? code ?? 1));
    });
    if (ended !== 0) throw new Error(`it ended with ${ended}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** Ends the command and all processes that it started. */
function endGroup(pid: number | undefined) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The command has already ended.
  }
}

const VARIABLE = 'COUNTERSIGN_NOTIFY_SECRET';
const LEAST_BYTES = 16;

/**
 * The secret that signs posts. It comes from a file or from the environment. It never comes from the command line,
 * because every user of the machine can read that. It is `whsec_` and base64, as in Standard Webhooks, or any text.
 *
 * @param variable The environment variable. @default `COUNTERSIGN_NOTIFY_SECRET`
 * @throws CountersignError `usage` if there is no secret, or the secret cannot be read or is too short.
 */
export function readSecret(file: string | undefined, env: NodeJS.ProcessEnv, variable = VARIABLE): Buffer {
  const text = readSecretText({ file, variable }, env);
  if (text === undefined)
    throw usageError(
      'a webhook needs a secret to sign with',
      `Set ${variable}, or name a file with --secret-file.`,
    );
  const secret = text.startsWith('whsec_') ? Buffer.from(text.slice(6), 'base64') : Buffer.from(text, 'utf8');
  if (secret.length >= LEAST_BYTES) return secret;
  throw usageError(
    `the secret is under ${LEAST_BYTES} bytes`,
    'Make one: echo "whsec_$(openssl rand -base64 32)"',
  );
}
