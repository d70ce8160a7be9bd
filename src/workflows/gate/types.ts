import type { Duration } from '@temporalio/common';
import type { JsonObject } from '../../contract/json';
import type { Effect, JsonSchema } from '../../contract/tool';
import type { SpentId } from '../approvals/state';

/** How to open a gate. */
export interface GateOptions {
  /** What this workflow is about, in a few words; the inbox shows it beside each request. @default nothing */
  about?: string;
  /** From `gate.carry()` of the run before, where the workflow continues as new. */
  carried?: CarriedGate;
}

/** What a gate takes along: decisions that are spent stay so. JSON, a few KiB. */
export interface CarriedGate {
  asked: number;
  spent: [string, SpentId][];
}

/** One call that a person is asked about. */
export interface GateRequest<A extends JsonObject = JsonObject> {
  /** What it would do, in snake_case, such as `refund_order`. Shown, and searchable: never a secret. */
  tool: string;
  /** What it would do it with. */
  arguments: A;
  /** JSON Schema (2020-12) of the arguments. Without one a person may approve and deny, but not change them. */
  schema?: JsonSchema;
  /** What the approver sees beside the arguments. @default the arguments alone */
  preview?: string;
  /** Why a person is asked. */
  reason?: string;
  /** Shown to the approver: what a second run of it would do. @default 'unsafe' */
  effect?: Effect;
  /** How long the request waits: milliseconds, `'2 hours'`, or `'never'`. @default '7 days' */
  expiresIn?: Duration | 'never';
  /** Decided on its own only, never with others by one answer. @default false */
  noBatch?: boolean;
  /** Unique in this workflow: letters, digits, `.`, `_`, `-`, at most 64. @default `1.<n>`, n counting from 1 */
  callId?: string;
}

/** What a person decided, or that nobody did in time. Only `allowed` lets the call run, and only with these arguments. */
export type GateDecision<A extends JsonObject = JsonObject> = GateAllowed<A> | GateForbidden;

/** Go ahead, once, with these arguments. */
export interface GateAllowed<A extends JsonObject = JsonObject> {
  allowed: true;
  decision: 'approved' | 'modified';
  callId: string;
  /** Unique to this call and this decision, also after a reset of the workflow: an idempotency key. */
  callKey: string;
  /** What to run: as asked, or as the person changed it; it fits the schema. */
  arguments: A;
  decisionId: string;
  /** As claimed. */
  approver: string;
  reason?: string;
}

/** Nothing may run. */
export interface GateForbidden {
  allowed: false;
  decision: 'denied' | 'expired';
  callId: string;
  callKey: string;
  /** As claimed; absent where nobody decided. */
  approver?: string;
  /** Who said no and why, or that nobody decided in time. */
  message: string;
}

/** Asks people on behalf of a workflow. */
export interface Gate {
  /**
   * Opens a request and waits for its decision, for days if need be. Any number may wait at once.
   * In a scope that is cancelled the request is withdrawn and the wait throws Temporal's CancelledFailure.
   *
   * @throws ApplicationFailure `countersign.gate`, not retryable: arguments that do not fit the schema, a request over
   * 16 KiB (no one could review it), a call id that was used before, or a time that is none.
   */
  ask<A extends JsonObject>(request: GateRequest<A>): Promise<GateDecision<A>>;
  /** What to give to the next run's `createGate` when the workflow continues as new; only with nothing open. */
  carry(): CarriedGate;
}
