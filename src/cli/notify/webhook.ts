import { createHmac } from 'node:crypto';
import type { Notice } from './notices';
import type { Receiver } from './receiver';

const TIMEOUT_MS = 15_000;

/**
 * A receiver of signed posts, as Standard Webhooks has them: `webhook-id`, `webhook-timestamp`, and `webhook-signature`,
 * which is an HMAC-SHA-256 over `<id>.<timestamp>.<body>`.
 */
export function createWebhook(url: string, secret: Buffer): Receiver {
  return {
    // A webhook's path is often its password, so only the host is ever named.
    name: new URL(url).host,
    deliver: async (notice, signal) => {
      const body = JSON.stringify(notice);
      const headers = { 'content-type': 'application/json', ...signatureOf({ id: notice.id, body, secret }) };
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
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
    // A redirect could lead the signed body anywhere; it counts as a failure.
    return await fetch(url, { ...init, method: 'POST', redirect: 'manual' });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`it could not be reached: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

interface Signed {
  id: Notice['id'];
  body: string;
  secret: Buffer;
}

function signatureOf({ id, body, secret }: Signed): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
