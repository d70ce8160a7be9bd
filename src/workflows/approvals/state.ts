import type { InDoubt, SpentDecision, ValidCall } from '../../contract/call';
import type { Abandonment, Verdict } from '../../contract/decision';
import type { JsonObject } from '../../contract/json';
import type { FilePlan } from '../../contract/plan';
import type { ToolResult } from '../../contract/result';
import type { JsonSchema } from '../../contract/tool';

/**
 * Where a call is.
 * - `request`: waits for a decision.
 * - `replanning`: a person edited a file proposal; a new plan is being made, then it is a request again.
 * - `ready`: may start when the order of the step lets it.
 * - `running`: its activity is scheduled.
 * - `in_doubt`: it was started and nobody knows the outcome.
 * - `done`: it has its result.
 */
export type Phase = 'request' | 'replanning' | 'ready' | 'running' | 'in_doubt' | 'done';

/** A decision that a call holds. Unspent until the call starts, then spent for good. */
export interface HeldDecision extends SpentDecision {
  /** Of the arguments it allows: no others may start with it. */
  argsDigest: string;
  /** Of the execution it allows; `run-again` raises it. */
  generation: number;
  spent: boolean;
}

/** The decision that stands for a call, for whoever comes second. */
export interface Standing {
  decision: string;
  approver: string;
  at: string;
}

/** One call of the current step. */
export interface CallState {
  /** As prepared; replaced when an edit made a new plan. */
  call: ValidCall;
  callKey: string;
  generation: number;
  phase: Phase;
  /** Whether starting needs a decision: asked for, or run again. */
  gated: boolean;
  /** Workflow time in ms when it became what it is (request or in doubt). */
  since: number;
  /** Workflow time in ms; null where it never expires or does not wait. */
  deadline: number | null;
  /** What runs: the prepared arguments, or a person's. */
  effective: JsonObject;
  effectiveDigest: string;
  /** What the model asked for, once a person has changed it. */
  proposed?: JsonObject;
  /** The reason and author of the last edit, for the model. */
  edit?: { approver: string; reason?: string };
  /** The edit that stands while a new plan is being made for another one. */
  editBefore?: { approver: string; reason?: string };
  plan?: FilePlan;
  held?: HeldDecision;
  standing?: Standing;
  doubt?: InDoubt;
  /** What the call itself reported late, while it still counted as running. */
  reported?: ToolResult;
  result?: ToolResult;
  /** SHA-256 of the result's content, where history already holds the text. */
  contentDigest?: string;
  /** Digest of the edited arguments that a new plan is being made for. */
  replanningFor?: string;
  /** Why the last edit could not be planned; shown with the request. */
  note?: string;
}

/** What became of a decision id: a repeat gets the same verdict, other content is refused. */
export interface SpentId {
  digest: string;
  verdict: Verdict;
}

/** Everything decisions are judged by. Changed only by the functions of this folder. */
export interface Approvals {
  /** Calls of the current step, in the model's order. */
  calls: Map<string, CallState>;
  /** How calls of earlier steps, and of this one, were closed. */
  closed: Map<string, { why: 'decided' | 'expired' | 'cancelled'; standing?: Standing }>;
  verdicts: Map<string, SpentId>;
  /** Schemas by tool digest, for checking edits. */
  schemas: Map<string, JsonSchema>;
  cancelled: boolean;
  /** Set by the `abandon` signal; has no effect until the turn is cancelled. */
  abandoned?: Abandonment;
}

/** An empty state; `spent` comes from the run before where the turn continued as new. */
export function makeApprovals(spent: Iterable<[string, SpentId]> = []): Approvals {
  const verdicts = new Map(spent);
  return {
    calls: new Map(),
    closed: new Map([...verdicts.values()].flatMap(closedBy)),
    verdicts,
    schemas: new Map(),
    cancelled: false,
  };
}

/** A call of the run before, for whoever comes second there. Calls that nobody decided on are unknown by then. */
function closedBy({ verdict }: SpentId): [string, { why: 'decided'; standing: Standing }][] {
  if (!verdict.accepted || verdict.asksAgain === true) return [];
  const { callId, decision, approver, at } = verdict;
  return [[callId, { why: 'decided', standing: { decision, approver, at } }]];
}

/** What a call's activity reported, or what its failure means. `contentDigest` only where an activity made the result. */
export type Settlement = { result: ToolResult; contentDigest?: string } | { inDoubt: InDoubt };
