import type { CallView } from '../../history/view-types';
import type { ForkBody } from '../../server/api';
import { type ArgumentsDraft, issuesOf } from './draft';

/** The change that a fork makes at a call. `same`: no change, so the fork repeats the path of the turn. */
type Way = 'arguments' | 'approved' | 'denied' | 'reply' | 'same';

/** A fork that a person puts together. */
export interface ForkDraft {
  way: Way;
  args: ArgumentsDraft;
  /** The reason of the decision; the model reads it. */
  reason: string;
  /** The reply of the model. */
  reply: string;
  /** One of the agent's models. Empty: the agent's own model. */
  model: string;
  live: boolean;
}

/** The draft that a form begins with. */
export function draftFor(call: CallView): ForkDraft {
  const args = { value: call.effective, texts: {} };
  return { way: 'arguments', args, reason: '', reply: '', model: '', live: false };
}

/** The changes that a fork can make at a call. Only a call with a request has a decision to change. */
export function waysFor({ request }: CallView): Way[] {
  return request ? ['arguments', 'approved', 'denied', 'reply', 'same'] : ['arguments', 'reply', 'same'];
}

/** Why a fork cannot be started yet, in words. */
export function whyNotFork({ way, args, reply, live }: ForkDraft, call: CallView): string | undefined {
  if (way === 'arguments' && issuesOf(args, call.request?.schema).length > 0)
    return 'The arguments have to be corrected first.';
  if (way === 'reply' && reply.trim() === '') return 'Write the answer of the model first.';
  if (way === 'approved' && live)
    return 'A fork with effects asks a person again; it cannot begin with an approval.';
  return undefined;
}

/** The fork to send, with only the fields that its way needs. */
export function toForkBody(callId: string, draft: ForkDraft): ForkBody {
  const change = changeOf(draft);
  const model = draft.model.trim();
  return {
    at: callId,
    change,
    model: model || undefined,
    live: draft.live || undefined,
  };
}

function changeOf({ way, args, reason, reply }: ForkDraft): ForkBody['change'] {
  switch (way) {
    case 'arguments':
      return { what: 'arguments', arguments: args.value };
    case 'approved':
    case 'denied':
      return { what: 'decision', decision: way, reason: reason.trim() || undefined };
    case 'reply':
      return { what: 'reply', reply: { text: reply.trim() } };
    case 'same':
      return undefined;
  }
}
