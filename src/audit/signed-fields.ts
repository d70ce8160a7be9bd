import { effectOfDecision } from '../history/decisions';
import type { DecisionMade, Resolved, TurnEvent } from '../history/events';
import type { AuditFacts } from './format';

/** Knows the facts about a run and its calls that a signature of a person covers. */
export interface SignedContext {
  /** Takes note of one more event of the run. */
  note(event: TurnEvent): void;
  /** What a person's signature covers, apart from what the record says anyway. Empty if the person did not sign. */
  of(event: DecisionMade | Resolved): {
    facts: { [name: string]: AuditFacts[string] | undefined };
    requesters?: string;
  };
}

/** The facts of a request that the signatures of its votes cover. */
interface Asked {
  callKey: string;
  tool: string;
  toolDigest: string;
  ruleDigest?: string;
  requesters: readonly string[];
  /** The ids of the hunks that were approved, with commas between them. Absent: the whole call. */
  hunks?: string;
}

/** Makes the context of a run that has no events yet. */
export function createSignedContext(): SignedContext {
  let agent: string | undefined;
  const asked = new Map<string, Asked>();
  const generations = new Map<string, number>();
  return {
    note: (event) => {
      if (event.type === 'turn_started') ({ agent } = event);
      if (event.type === 'call_started') generations.set(event.callId, event.generation);
      if (event.type === 'request_opened') {
        const { callId, callKey, tool, toolDigest, authority } = event;
        const { ruleDigest, requesters = [] } = authority ?? {};
        asked.set(callId, { callKey, tool, toolDigest, ruleDigest, requesters });
      }
      const approved = event.type === 'decision' ? asked.get(event.callId) : undefined;
      if (event.type === 'decision' && approved !== undefined && effectOfDecision(event) === 'approves')
        approved.hunks = event.hunks?.join();
      const before = event.type === 'in_doubt' ? asked.get(event.callId) : undefined;
      if (event.type === 'in_doubt' && before !== undefined) before.callKey = event.callKey;
    },
    of: ({ type, callId, signature }) => {
      if (signature === undefined) return { facts: {} };
      const { requesters = [], hunks: approved, ...call } = asked.get(callId) ?? {};
      const last = generations.get(callId) ?? 0;
      const generation = type === 'resolved' ? last + 1 : last;
      const hunks = type === 'resolved' ? approved : undefined;
      return { facts: { agent, ...call, generation, hunks }, requesters: JSON.stringify(requesters) };
    },
  };
}
