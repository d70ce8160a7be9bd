import type { JsonObject } from './json';

/** `safe` runs; `cautious` is logged, then runs; `dangerous` waits for a decision. */
export const SAFETIES = ['safe', 'cautious', 'dangerous'] as const;
export type Safety = (typeof SAFETIES)[number];

/**
 * What a second run would do. `pure`: nothing, it may run any number of times; `idempotent`: nothing more, if it gets
 * the same key; `unsafe`: harm, so it is never run twice by us.
 */
export const EFFECTS = ['pure', 'idempotent', 'unsafe'] as const;
export type Effect = (typeof EFFECTS)[number];

/**
 * How long what a tool keeps in memory between its calls lives. `call`: it keeps nothing; `turn`: as long as the turn;
 * `worker`: as long as the worker, and all its turns share it.
 */
export const STATES = ['call', 'turn', 'worker'] as const;
export type StateScope = (typeof STATES)[number];

/** How the ready calls of a step are started; see DESIGN of order in docs. */
export const ORDERS = ['lane', 'strict', 'parallel'] as const;
export type Order = (typeof ORDERS)[number];

/** A JSON Schema (2020-12) whose root is an object. */
export type JsonSchema = JsonObject;

/** Retry of lost attempts and transport errors; never used for unsafe calls. Times in milliseconds. */
export interface RetryOptions {
  maximumAttempts: number;
  initialIntervalMs: number;
  backoffCoefficient: number;
  maximumIntervalMs?: number;
}

/** One thing wrong with arguments: where (`/edits/0/old_text`, empty for the root) and what. */
export interface Issue {
  path: string;
  message: string;
}
