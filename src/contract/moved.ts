import { isObject } from './json';
import type { ThinkOutput } from './think';
import type { JsonSchema } from './tool';

const MOMENT: JsonSchema = { type: 'number', minimum: 0, maximum: 8.64e15 };
const WAIT: JsonSchema = {
  type: 'object',
  properties: {
    callId: { type: 'string' },
    seenDigest: { type: 'string' },
    since: MOMENT,
    deadline: { anyOf: [MOMENT, { type: 'null' }] },
  },
  required: ['callId', 'seenDigest', 'since', 'deadline'],
};

/** The schema of a moved step, apart from its reply. */
export const MOVED: JsonSchema = {
  type: 'object',
  properties: { reply: { type: 'object' }, waits: { type: 'array', items: WAIT } },
  required: ['reply', 'waits'],
};

/** Whether a turn can take up a moved step: its reply has calls, and the last entry of the transcript is a reply. */
export function fitsMoved(reply: ThinkOutput | undefined, transcript: unknown): boolean {
  const last: unknown = Array.isArray(transcript) ? transcript.at(-1) : undefined;
  return reply !== undefined && reply.calls.length > 0 && isObject(last) && last['kind'] === 'reply';
}
