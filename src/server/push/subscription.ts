import { ECDH } from 'node:crypto';
import { z } from 'zod';
import { digestText } from '../../contract/digest';
import { isSecureUrl } from '../../system/loopback';

const MOST_ENDPOINT = 2048;
/** The length of an uncompressed point on P-256, in bytes. */
const POINT_BYTES = 65;
const AUTH_BYTES = 16;

/**
 * The address for messages to one browser, and the keys that encrypt them. The address and the keys are secret: anybody
 * who has them can send messages.
 */
export const subscriptionSchema = z.object({
  endpoint: z.string().max(MOST_ENDPOINT).refine(isEndpoint, 'must be an address of https'),
  keys: z.object({
    p256dh: z.string().max(100).refine(isPoint, 'must be a key of P-256'),
    auth: z
      .string()
      .max(100)
      .refine((text) => bytesOf(text)?.length === AUTH_BYTES, `must be ${AUTH_BYTES} bytes`),
  }),
});

/** A subscription in the form in which a browser gives it, without additional fields. */
export type Subscription = z.output<typeof subscriptionSchema>;

/** The public name of a subscription: the digest of its address. */
export function subscriptionId({ endpoint }: Pick<Subscription, 'endpoint'>): string {
  return digestText(endpoint);
}

/**
 * Whether an address is safe. Without https, anybody between here and the push service could see when a person is
 * notified. Plain http is allowed only for this machine.
 */
function isEndpoint(text: string) {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return isSecureUrl(url) && `${url.username}${url.password}${url.hash}` === '';
}

function isPoint(text: string) {
  const bytes = bytesOf(text);
  if (bytes?.length !== POINT_BYTES || bytes[0] !== 4) return false;
  try {
    ECDH.convertKey(bytes, 'prime256v1');
    return true;
  } catch {
    return false;
  }
}

function bytesOf(text: string): Buffer | undefined {
  return /^[\w-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}
