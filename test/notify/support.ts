import { parseApprovers } from '../../src/authority/rules/approvers-file';
import type { Notice } from '../../src/notify/notices';
import type { RequestOpened } from '../../src/history/events';
import { AT, request } from '../cli/support';

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

/** A request by a rule that wants this. */
export const ruled = (assurance: string): RequestOpened => {
  const file = parseApprovers(
    `installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'\npeople: { ann: {} }\nrules: [{ name: all, tools: [pay], then: ask, assurance: ${assurance} }, { name: default, then: by_safety }]`,
    'approvers.yaml',
  );
  const about = { tool: 'pay', agent: 'clerk', args: {}, safety: 'dangerous', effect: 'unsafe' } as const;
  return request({ authority: file.authorityBy(file.rulingOn(about), ['bob']) });
};
