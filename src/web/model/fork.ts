import type { CallView } from '../../history/view-types';
import type { ForkBody } from '../../server/api';
import { issuesOf, type ArgumentsDraft } from './form/draft';

/** What is made otherwise at a call. `same`: nothing, the path is taken once more. */
export type Way = 'arguments' | 'approved' | 'denied' | 'reply' | 'same';

export const WAY_WORDS: Readonly<Record<Way, string>> = {
  arguments: 'the call had other arguments',
  approved: 'it had been approved',
  denied: 'it had been denied',
  reply: 'the model had answered instead',
  same: 'nothing were different, but for the model below',
};

/** A fork that a person puts together. */
export interface ForkDraft {
  way: Way;
  args: ArgumentsDraft;
  /** Why it is denied, or approved; the model reads it. */
  reason: string;
  /** The answer of the model. */
  reply: string;
  /** One of the agent's models; empty: its own. */
  model: string;
  live: boolean;
}

/** The draft that a form begins with. */
export function draftFor(call: CallView): ForkDraft {
  const args = { value: call.effective, texts: {} };
  return { way: 'arguments', args, reason: '', reply: '', model: '', live: false };
}

/** What can be otherwise at a call: one that asked nobody has no decision. */
export function waysFor({ request }: CallView): Way[] {
  return request === undefined
    ? ['arguments', 'reply', 'same']
    : ['arguments', 'approved', 'denied', 'reply', 'same'];
}

/** Why a fork cannot be started yet, in words. */
export function whyNotFork({ way, args, reply, live }: ForkDraft, call: CallView): string | undefined {
  if (way === 'arguments' && issuesOf(args, call.request?.schema).length > 0)
    return 'The arguments have to be mended first.';
  if (way === 'reply' && reply.trim() === '') return 'Say what the model had answered.';
  if (way === 'approved' && live)
    return 'A fork for real asks a person anew; it cannot begin with an approval.';
  return undefined;
}

/** The fork to send; what belongs to another way is left out. */
export function toForkBody(callId: string, draft: ForkDraft): ForkBody {
  const change = changeOf(draft);
  const model = draft.model.trim();
  return {
    at: callId,
    ...(change === undefined ? {} : { change }),
    ...(model === '' ? {} : { model }),
    ...(draft.live ? { live: true } : {}),
  };
}

function changeOf({ way, args, reason, reply }: ForkDraft): ForkBody['change'] {
  switch (way) {
    case 'arguments':
      return { what: 'arguments', arguments: args.value };
    case 'approved':
    case 'denied':
      return { what: 'decision', decision: way, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) };
    case 'reply':
      return { what: 'reply', reply: { text: reply.trim() } };
    case 'same':
      return undefined;
  }
}
