import { defined } from '../../contract/defined';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { z } from 'zod';
import { errorMessage } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import { FAILURES } from '../../contract/names';
import { priced, type Pricing } from '../../contract/spending/prices';
import { addUsage, type Usage } from '../../contract/spending/usage';
import { span } from '../../contract/text/times';
import { type Model, ModelError } from '../../models/model';
import type { Agent } from '../../tools/define-agent';

/** An agent, and the model that is asked for it. */
export interface AgentModel {
  agent: Agent;
  model: Model;
}

/** A reply without text or calls, if no tool result came before it. */
export class EmptyReply extends ModelError {}

/**
 * The waits between attempts. Each wait is twice the wait before. The waits vary by a quarter, so that a thousand turns
 * do not come back at the same time.
 */
const WAIT_MS = { first: 1_000, most: 60_000 } as const;

/** The wait before the next model is asked, in milliseconds. A wait of 0 would mean the wait of the retry policy. */
const SOON_MS = 1;

/**
 * Limits for empty replies: their number, and the time after the first empty reply within which the model is asked
 * again.
 */
const EMPTY = { most: 3, withinMs: 15_000 } as const;

/**
 * The most workers that may die while they ask. A question that kills one worker could kill all workers, one after the
 * other.
 */
const LOST_MOST = 10;

/** An attempt ends by itself this long before Temporal's timeout, so that it can say why. */
const MARGIN_MS = 15_000;

const count = z.number().nonnegative().optional();

const usageSchema = z
  .object({
    inputTokens: count,
    outputTokens: count,
    totalTokens: count,
    cachedInputTokens: count,
    cacheWriteTokens: count,
    reasoningTokens: count,
    cost: count,
    currency: z.string().optional(),
  })
  .catch({});

/**
 * How the attempts of one step ended. Each attempt passes this record to the next in its heartbeat details. The time
 * without a worker that has the agent does not count, because the model did not cause it.
 */
const triesSchema = z.object({
  failures: z.number(),
  /** Milliseconds of the attempts that failed, and of the waits after them. */
  spentMs: z.number().nonnegative(),
  empty: z.number(),
  /** Milliseconds since the epoch. 0 if no reply was empty. */
  emptySince: z.number(),
  lost: z.number(),
  /** Whether an attempt began and did not record how it ended. */
  open: z.boolean(),
  /** The index of the present model among the models of the step. */
  at: z.int().nonnegative().default(0),
  /** What models used in attempts that failed. */
  usage: usageSchema,
});
type Tries = z.infer<typeof triesSchema>;

const NONE: Tries = {
  failures: 0,
  spentMs: 0,
  empty: 0,
  emptySince: 0,
  lost: 0,
  open: false,
  at: 0,
  usage: {},
};

/**
 * The record of the requests to models for a step, if asking failed at the end of a burst. It counts only in its own
 * run. After a reset the models are asked anew, as for any other step.
 */
const triedSchema = z.object({
  runId: z.string(),
  tries: triesSchema.optional().catch(undefined),
  /** The failure, if asking failed for good. */
  failure: z.object({ type: z.string().startsWith(FAILURES.model), message: z.string() }).optional(),
});

function readTried(tried: JsonObject | undefined): Partial<z.infer<typeof triedSchema>> {
  if (tried === undefined) return {};
  const { runId } = Context.current().info.workflowExecution ?? {};
  const read = triedSchema.safeParse(tried).data;
  return read?.runId === runId ? { ...read } : {};
}

/**
 * What the next activity needs to know about a step that failed: how often and how long the models were asked and,
 * if asking is over, why.
 */
export function triedOf(left: unknown, final: ApplicationFailure | undefined): JsonObject | undefined {
  const { runId } = Context.current().info.workflowExecution ?? {};
  const tries = readTries(left);
  const failure = final && { type: final.type ?? FAILURES.model, message: final.message };
  if (runId === undefined || (tries === undefined && failure === undefined)) return undefined;
  return { runId, ...defined({ tries, failure }) };
}

function triesBefore(tried: JsonObject | undefined): Tries {
  const { heartbeatDetails } = Context.current().info;
  const recorded = readTries(heartbeatDetails) ?? readTried(tried).tries ?? NONE;
  return recorded.open ? { ...recorded, lost: recorded.lost + 1 } : recorded;
}

/** The record in heartbeat details, which may be any value. Nearly every attempt has no record. */
function readTries(details: unknown): Tries | undefined {
  return details === undefined ? undefined : triesSchema.safeParse(details).data;
}

/** The record of earlier attempts for the heartbeats of this attempt. Undefined: this is the first attempt. */
export function openTries(tried: JsonObject | undefined): Tries | undefined {
  return Context.current().info.attempt === 1 ? undefined : { ...triesBefore(tried), open: true };
}

/**
 * Counts how often and how long the models are asked for one step, and knows the present model. Each attempt makes one
 * object.
 */
export class ModelTries {
  /** A monotonic time. A change of the clock must not count as time of the model. */
  private readonly from = performance.now();
  private readonly before: Tries;

  /**
   * @param models In the order in which they are asked.
   * @param tried The record of an earlier activity.
   * @param pricing The prices of what models use in attempts that fail.
   */
  constructor(
    private readonly agent: Agent,
    private readonly models: readonly [Model, ...Model[]],
    private readonly tried: JsonObject | undefined,
    private readonly pricing: Pricing,
  ) {
    this.before = triesBefore(tried);
  }

  /** The model that this attempt asks. */
  get model(): Model {
    // The index may come from another worker, which had more models.
    return this.models[this.before.at] ?? this.models[0];
  }

  /** Whether this attempt asks a model of `fallback`. */
  get isFallback(): boolean {
    return this.before.at > 0;
  }

  /** What models used in the attempts before this one. */
  get spent(): Usage | undefined {
    const { usage } = this.before;
    return Object.keys(usage).length === 0 ? undefined : usage;
  }

  private get next(): Model | undefined {
    return this.models[this.before.at + 1];
  }

  /**
   * The details of this attempt's heartbeats. The first attempt has none, so a quick first attempt costs the server no
   * heartbeat.
   */
  get details(): Tries | undefined {
    return openTries(this.tried);
  }

  /** The time for which this attempt may still ask, in milliseconds. */
  timeLeft(): number {
    const { modelTimeoutMs, modelRetryForMs } = this.agent;
    const { startToCloseTimeoutMs } = Context.current().info;
    const left = modelRetryForMs - this.before.spentMs;
    const inTime = startToCloseTimeoutMs - MARGIN_MS - (performance.now() - this.from);
    return Math.max(1, Math.min(modelTimeoutMs, left, inTime));
  }

  /**
   * @throws ApplicationFailure, not retryable, if asking is over: the earlier activity failed for good, or too many
   * workers ended.
   */
  checkOver(): void {
    const { failure } = readTried(this.tried);
    if (failure !== undefined) throw ApplicationFailure.nonRetryable(failure.message, failure.type);
    const { lost } = this.before;
    if (lost < LOST_MOST) return;
    const message = `${this.model.id}: ${lost} workers ended while they asked the model`;
    throw modelFailure(new ModelError('server', message, { retryable: false }));
  }

  /** The error that a failed attempt throws. It is tried again after a wait, or it is final. */
  failureOf(error: unknown): unknown {
    if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
    if (error instanceof ModelError && !error.options.retryable)
      return this.failOver(error) ?? modelFailure(error);
    const tries = this.after(error);
    const waitMs = Math.max(waitOf(tries), retryAfterOf(error));
    const why = this.whyNotAgain(error, tries, waitMs);
    if (why !== undefined) return this.failOver(error) ?? modelFailure(error, { last: why });
    Context.current().heartbeat({ ...tries, spentMs: tries.spentMs + waitMs });
    return modelFailure(error, { waitMs });
  }

  /**
   * The failure after which the next model is asked. Undefined if no model is left, or if such an error does not
   * lead to the next model.
   */
  private failOver(error: unknown) {
    const { next } = this;
    const kind = error instanceof ModelError ? error.kind : 'server';
    if (next === undefined || !this.agent.fallback.on.has(kind)) return undefined;
    Context.current().heartbeat({ ...NONE, at: this.before.at + 1, ...this.spentWith(error) });
    const message = `${errorMessage(error)} (${next.id} is asked next)`;
    return modelFailure(new ModelError(kind, message, { retryable: true }), { waitMs: SOON_MS });
  }

  /** What models used so far, with an attempt that failed after its model wrote. */
  private spentWith(error: unknown): Pick<Tries, 'usage'> {
    const used = error instanceof ModelError ? error.options.usage : undefined;
    const bytes = { read: 0, wrote: 0 };
    const more = used && priced(used, { model: this.model.id, pricing: this.pricing, bytes });
    return { usage: addUsage(this.before.usage, more) };
  }

  private after(error: unknown): Tries {
    const { failures, spentMs, empty, emptySince, lost, at } = this.before;
    const isEmpty = error instanceof EmptyReply;
    return {
      failures: failures + 1,
      spentMs: spentMs + Math.round(performance.now() - this.from),
      empty: empty + (isEmpty ? 1 : 0),
      emptySince: emptySince === 0 && isEmpty ? Date.now() : emptySince,
      lost,
      open: false,
      at,
      ...this.spentWith(error),
    };
  }

  private whyNotAgain(error: unknown, tries: Tries, waitMs: number) {
    const { failures, spentMs, empty, emptySince } = tries;
    if (error instanceof EmptyReply) {
      const isLate = Date.now() + waitMs - emptySince > EMPTY.withinMs;
      if (empty >= EMPTY.most || isLate) return `asked ${empty === 1 ? 'once' : `${empty} times`}`;
    }
    const { modelRetryForMs, fallback } = this.agent;
    const forMs = this.next === undefined ? modelRetryForMs : (fallback.afterMs ?? modelRetryForMs);
    if (spentMs + waitMs < forMs) return undefined;
    const times = failures === 1 ? 'one attempt' : `${failures} attempts`;
    const asks = retryAfterOf(error) < waitMs ? '' : `; it asks to wait ${span(waitMs)}`;
    return `given up after ${times} in ${span(spentMs)}${asks}; modelRetryFor is ${span(modelRetryForMs)}`;
  }
}

/**
 * The failure for an error of a model. An error that is not a ModelError counts as retryable. `waitMs` is the wait
 * until the next attempt, in place of the wait by the activity's retry policy. `last` says why no model is asked any
 * more.
 */
export function modelFailure(
  error: unknown,
  { waitMs, last }: { waitMs?: number; last?: string } = {},
): ApplicationFailure {
  const words = errorMessage(error);
  const isModels = error instanceof ModelError;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  const failure = ApplicationFailure.create({
    type: `${FAILURES.model}.${isModels ? error.kind : 'unknown'}`,
    message: last === undefined ? words : `${words} (${last})`,
    nonRetryable: last !== undefined || (isModels && !error.options.retryable),
    cause,
    nextRetryDelay: waitMs,
  });
  // Logs show the stack: that of a model's own mistake, and none for an answer that a model gave.
  return Object.assign(failure, { stack: isModels || !(error instanceof Error) ? '' : error.stack });
}

function waitOf({ failures }: Tries) {
  const wait = Math.min(WAIT_MS.most, WAIT_MS.first * 2 ** Math.min(failures - 1, 10));
  return Math.round(wait * (0.75 + Math.random() / 2));
}

function retryAfterOf(error: unknown) {
  return error instanceof ModelError ? (error.options.retryAfterMs ?? 0) : 0;
}
