import type { Notice } from '../../../src/cli/notify/notices';
import { AT } from '../support';

/** A notice of a request to pay. */
export const notice = (id: string): Notice => ({
  id: `msg_${id}`,
  type: 'request.opened',
  timestamp: AT,
  data: {
    turn: 't-1',
    agent: 'clerk',
    callId: '1.1',
    kind: 'request',
    tool: 'pay',
    summary: `1.1 pay ${id}`,
    since: AT,
    deadline: null,
    prompt: 'pay \u202e ann',
  },
});
/** A signal that never aborts. */
export const never: AbortSignal = new AbortController().signal;
