import type { JsonObject } from '../../contract/json';
import type { World } from '../../contract/fork';

/** What is made otherwise at the point where a fork leaves the record. */
export type ForkChange =
  | { what: 'arguments'; arguments: JsonObject }
  /** `approved` only in a dry world: in a live one a call needs a decision of its own. */
  | { what: 'decision'; decision: 'approved' | 'denied'; reason?: string; approver: string }
  | { what: 'reply'; reply: GivenReply };

/** What the model had answered instead. Without calls the text is the answer of the turn. */
export interface GivenReply {
  text?: string;
  calls?: { tool: string; arguments?: JsonObject }[];
}

/** How to fork a turn. */
export interface ForkRequest {
  /** A call (`2.1`), or a step (`2`): then the model is asked for it anew. */
  at: string;
  /** @default dry */
  world?: World;
  /** @default nothing: the same again */
  change?: ForkChange;
  /** One of the agent's `models`, for the steps from here on. @default the agent's own model */
  model?: string;
}
