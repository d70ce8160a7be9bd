import { CountersignError } from '../contract/errors';

/** Why a payload is refused although no key is missing. */
const REASONS = {
  plaintext: 'a payload is not encrypted, and encryption is required',
  altered: 'an encrypted payload was altered or cut short',
  moved: 'an encrypted payload belongs to another workflow or namespace',
} as const;
/** One of them, as `data.reason` has it. */
export type RefusalReason = keyof typeof REASONS;

const HINTS: Readonly<Record<RefusalReason, string>> = {
  plaintext: 'Send it with the keys set; COUNTERSIGN_ENCRYPTION_REQUIRED=false reads what is from before.',
  altered: 'Somebody or something changed what Temporal keeps; look who may write there.',
  moved: 'Somebody copied it from elsewhere; look who may start and signal workflows.',
};

/** The error for a payload that must not be read. Says nothing of what is in it. */
export function payloadRefused(reason: RefusalReason): CountersignError {
  return new CountersignError('payload_refused', REASONS[reason], {
    hint: HINTS[reason],
    data: { reason },
  });
}

/** The error for a payload whose key is not here. */
export function keyMissing(keyId: string, known: readonly string[]): CountersignError {
  // Whoever wrote the payload chose the id: only ids that could be ours are repeated.
  const named = /^[\w.-]{1,64}$/.test(keyId) ? `the key ${keyId}` : 'a key of no valid id';
  const has = known.length === 0 ? 'no keys are set' : `here are ${known.join(', ')}`;
  return new CountersignError('key_missing', `a payload is encrypted with ${named}; ${has}`, {
    hint: 'Set COUNTERSIGN_ENCRYPTION_KEYS or COUNTERSIGN_ENCRYPTION_KEY_FILE to the keys that the workers have.',
    data: { known: [...known] },
  });
}
