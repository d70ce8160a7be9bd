import { argsDigestOf, draft, resultFacts, type Draft, type Of } from './draft';
import type { ProposedCall } from '../../events';

type CallEvent = Of<
  'call_prepared' | 'call_started' | 'call_ended' | 'call_lost' | 'verified' | 'in_doubt' | 'outcome_reported'
>;

/** What a call did, and what is known of its outcome. */
export function recordsOfCall(event: CallEvent): Draft[] {
  switch (event.type) {
    case 'call_prepared':
      return [proposal(event.call)];
    case 'call_started':
      return [start(event)];
    case 'call_ended': {
      const { callId: call, tool, origin, attempts, durationMs, result } = event;
      const facts = { call, tool, ...resultFacts(result), origin, attempts, ms: durationMs ?? undefined };
      return [draft('outcome', facts, { message: result.error?.message })];
    }
    case 'call_lost':
      return [draft('lost', { call: event.callId, tool: event.tool }, { message: event.message })];
    case 'verified':
      return [draft('verified', { call: event.callId, outcome: event.outcome }, { message: event.message })];
    case 'in_doubt': {
      const { callId: call, callKey, tool, message } = event;
      return [draft('in_doubt', { call, callKey, tool }, { message })];
    }
    case 'outcome_reported': {
      const { callId: call, generation, settles, result } = event;
      return [
        draft('late_outcome', { call, tool: result.tool, generation, settles, ...resultFacts(result) }),
      ];
    }
  }
}

/** What a model asked for. Of a call that another worker has yet to prepare the arguments are not known. */
export function proposal({ callId: call, id, tool, kind, arguments: args, error }: ProposedCall): Draft {
  if (kind === 'remote') return draft('proposal', { call, modelId: id, tool, kind });
  const facts = { call, modelId: id, tool, kind, argsDigest: argsDigestOf(args) };
  return draft('proposal', facts, { arguments: JSON.stringify(args), message: error });
}

function start(event: Of<'call_started'>): Draft {
  const { callId: call, tool, generation, effect, taskQueue, decision, arguments: args } = event;
  const argsDigest = argsDigestOf(args);
  const facts = { call, tool, generation, effect, taskQueue, argsDigest, spends: decision?.decision };
  return draft('start', facts, { approver: decision?.approver });
}
