import type { CallInput } from '../contract/call';
import { errorMessage } from '../contract/errors';
import { callKey } from '../contract/names';
import { type AnswerKeys, partsOf, sealedHead } from '../contract/secret/sealed';
import { ToolError } from '../tools/errors';
import { createSecrets, type Secrets } from '../tools/secrets';

/** The secret answers that one call may read. */
export interface SealedAnswers extends Pick<CallInput, 'tool' | 'sealed'> {
  keys: AnswerKeys | undefined;
}

/**
 * Joins the secrets of a worker and the secret answers of one call, by their handles. Answers are redacted like other
 * secrets.
 */
export function withSealedAnswers(secrets: Secrets = createSecrets(), answers: SealedAnswers): Secrets {
  return {
    ...secrets,
    async get(name, signal) {
      if (partsOf(name) === undefined) return secrets.get(name, signal);
      const value = await open(name, answers);
      signal.throwIfAborted();
      secrets.keep(value);
      return value;
    },
  };
}

async function open(handle: string, { tool, sealed = {}, keys }: SealedAnswers): Promise<string> {
  const value = Object.hasOwn(sealed, handle) ? sealed[handle] : undefined;
  const head = sealedHead(value);
  if (value === undefined || head === undefined)
    throw new ToolError(`there is no secret ${handle}: the arguments of this call name none`);
  const { call, field, for: tools } = head.cs;
  if (!tools.includes(tool))
    throw new ToolError(`the secret ${handle} is for ${tools.join(', ')}; ${tool} cannot read it`);
  const named = partsOf(handle);
  if (named?.field !== field || callKey(call.slice(0, call.lastIndexOf(':')), named.callId) !== call)
    throw new ToolError(`the secret ${handle} is encrypted for another question`);
  if (keys === undefined)
    throw new ToolError(`the secret ${handle} cannot be read: this worker has no key for secret answers`, {
      retryable: true,
    });
  try {
    return await keys.open(value);
  } catch (error) {
    throw new ToolError(`the secret ${handle} cannot be read: ${errorMessage(error)}`, { retryable: true });
  }
}
