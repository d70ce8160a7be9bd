import type { Usage } from '../contract/spending/usage';

/** The call that a fact is about. */
interface OfCall {
  agent: string;
  tool: string;
  callId: string;
  /** Absent if the call could never have run. */
  callKey?: string;
  /** The span in which its turn was started, as a `traceparent`. */
  trace?: string;
}

/** How the wait for a person ended. `modified`: approved with other arguments. */
export type WaitEnd = 'approved' | 'modified' | 'denied' | 'answered' | 'expired' | 'withdrawn' | 'cancelled';

/**
 * The events that metrics and traces count. The process that knows a fact reports it once. Times are milliseconds since
 * the epoch.
 * - `waited`: a request or a question no longer waits for a person. `votes` is set if several people vote.
 * - `ended`: a call has its result. `outcome` is `success` or the code of its error.
 * - `doubted`: a call is in doubt.
 * - `turn`: a turn is over. `since` is when its first run started.
 * - `model`: a model was asked once. `outcome` is `success` or the kind of the error.
 * - `held`: a model call waited on this worker until the provider of its model had room.
 * - `usage`: a reply used tokens of a model.
 * - `journal`: the intent or outcome of an unsafe call was written, or could not be written.
 */
export type ObservedFact =
  | ({
      kind: 'waited';
      outcome: WaitEnd;
      since: number;
      at: number;
      isEdited: boolean;
      votes?: number;
    } & OfCall)
  | ({ kind: 'ended'; outcome: string; at: number } & OfCall)
  | ({ kind: 'doubted'; at: number } & OfCall)
  | {
      kind: 'turn';
      agent: string;
      outcome: string;
      at: number;
      since?: number;
      trace?: string;
      usage?: Usage;
      steps?: number;
    }
  | { kind: 'model'; agent: string; model: string; outcome: string; since: number; at: number }
  | { kind: 'usage'; agent: string; model: string; usage: Usage }
  | { kind: 'journal'; write: 'intent' | 'outcome'; outcome: 'success' | 'failed'; ms: number };

/** Called with each fact. It must not throw. */
export type Observe = (fact: ObservedFact) => void;

/**
 * The sinks with which workflows report to their worker. Replayed code reports nothing. `observe` takes several facts
 * that happened together. `changed`: a request began or ceased to wait for a person in the workflow.
 */
export type ObserveSinks = {
  countersign: { observe: (...facts: ObservedFact[]) => void; changed: () => void };
};
