import { errorMessage } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import type { Usage } from '../../contract/spending/usage';
import { span } from '../../contract/text/times';
import type { TurnOrigin } from '../../contract/call';
import { type Model, ModelError, type ModelReply, type ModelRequest } from '../../models/model';
import { modelOf } from '../../models/providers';
import type { Agent } from '../../tools/define-agent';
import { unlessAborted } from '../../tools/wait-within';
import { type AttemptGuard, describeLostAttempt, startHeartbeat } from '../heartbeat';
import type { ActivityDeps } from '../deps';
import { lackOf, leaveToAnother } from '../leave-to-another';
import { modelFailure, EmptyReply, ModelTries } from './model-tries';
import { inChatSpan } from '../spans';

/** The model that an attempt asks, and what the attempt needs for that. */
export interface Asking {
  model: Model;
  /** Whether the model is one of `fallback`. */
  isFallback: boolean;
  /** What models used in the attempts before this one. */
  spent: Usage | undefined;
  guard: AttemptGuard;
  /** The time that this attempt may still take, in milliseconds. */
  timeLeft(): number;
  /** Called with the outcome of one question to the model. */
  note(asked: { outcome: string; since: number }): void;
  /** Asks once, in a span. */
  inSpan(request: Omit<ModelRequest, 'signal'>, ask: () => Promise<ModelReply>): Promise<ModelReply>;
}

/** The turn for which a model is asked. */
interface AskedFor {
  agent: Agent;
  /** The name of one of the agent's `models`. Undefined: the agent's own model. */
  named: string | undefined;
  origin?: TurnOrigin;
  /** The record that an earlier activity left of its attempts to ask. */
  tried?: JsonObject;
}

/**
 * Does work that needs a model of the agent. An error of the work becomes a failure that makes Temporal try this model
 * again, ask the next model, or end the activity.
 */
export async function withModel<T>(
  deps: ActivityDeps,
  { agent, named, origin, tried }: AskedFor,
  work: (asking: Asking) => Promise<T>,
): Promise<T> {
  const tries = new ModelTries(agent, modelsFor(deps, agent, named), tried, deps.pricing);
  tries.checkOver();
  const guard = startHeartbeat(tries.details);
  try {
    const { model, isFallback, spent } = tries;
    const of = { agent: agent.name, model: model.id };
    const note: Asking['note'] = (asked) =>
      deps.observe?.({ kind: 'model', ...of, ...asked, at: Date.now() });
    const asked = { ...of, origin };
    const inSpan: Asking['inSpan'] = (request, ask) => inChatSpan(deps, asked, { request, ask });
    return await work({ model, guard, timeLeft: () => tries.timeLeft(), note, inSpan, isFallback, spent });
  } catch (error) {
    // The heartbeats stop first: a further heartbeat would replace the details that the failure leaves for the next
    // attempt.
    guard.stop();
    throw tries.failureOf(error);
  } finally {
    guard.stop();
  }
}

/** The agent of this name. If this worker lacks it, another worker of the task queue may have it. */
export function agentOf(deps: ActivityDeps, name: string): Agent {
  const agent = deps.agents.get(name);
  if (agent !== undefined) return agent;
  throw leaveToAnother(deps, lackOf(deps, { agent: name }) ?? name);
}

/**
 * The models of an agent, in the order in which they are asked: the agent's own model or the named one, then the models
 * of `fallback`. Another worker may have a model that this worker lacks.
 */
function modelsFor(deps: ActivityDeps, agent: Agent, named: string | undefined): [Model, ...Model[]] {
  const { name, models, fallback } = agent;
  const first = named === undefined ? agent.model : models.get(named);
  if (first !== undefined) return [modelOf(first), ...fallback.models.map(modelOf)];
  const names = [...models.keys()].join(', ') || 'none';
  throw leaveToAnother(deps, `agent "${name}" has no model "${named}" here; its models: ${names}`);
}

/** Asks a model once. */
type Generate = (request: Omit<ModelRequest, 'signal'>) => Promise<ModelReply>;

/**
 * Calls `ask`, until the time of the attempt is over or the attempt is given up. Errors name the model.
 */
export async function inTime<T>(asking: Asking, ask: (generate: Generate) => Promise<T>): Promise<T> {
  const { model, guard } = asking;
  try {
    return await askWithin(asking, ask);
  } catch (error) {
    const lostReason = guard.lost();
    // The next attempt asks again, because the model did not cause this failure.
    if (lostReason !== undefined)
      throw modelFailure(new Error(describeLostAttempt(lostReason), { cause: error }));
    throw named(model, error);
  }
}

async function askWithin<T>(
  { model, guard, timeLeft, note, inSpan }: Asking,
  ask: (generate: Generate) => Promise<T>,
): Promise<T> {
  const timeoutMs = timeLeft();
  const limit = limitTo(timeoutMs, guard.signal);
  const { signal } = limit;
  const generate: Generate = (request) =>
    unlessAborted(
      model.generate({ ...request, signal }),
      // A model that ignores its signal must not keep the attempt waiting.
      signal,
      () => new Error('the request was given up'),
    );
  try {
    return await ask((request) => inSpan(request, () => noted(() => generate(request), { note, limit })));
  } catch (error) {
    throw limit.isOver()
      ? new ModelError(
          'timeout',
          `the model did not answer in the ${span(timeoutMs)} that were left of its time`,
          {
            retryable: true,
            cause: error,
          },
        )
      : error;
  } finally {
    limit.end();
  }
}

/** A limit of time. Its signal aborts when the time is over or `outer` aborts, whichever is first. */
interface Limit {
  signal: AbortSignal;
  /** Whether the time was over. */
  isOver(): boolean;
  end(): void;
}

/** Sets a limit. `AbortSignal.any` would do the same, but a step of a burst would then take noticeably longer. */
function limitTo(ms: number, outer: AbortSignal): Limit {
  const over = new AbortController();
  let isOver = false;
  const onTimeout = () => {
    isOver = true;
    over.abort(new DOMException('the time was over', 'TimeoutError'));
  };
  const onAbort = () => over.abort(outer.reason);
  const timer = setTimeout(onTimeout, ms).unref();
  if (outer.aborted) onAbort();
  else outer.addEventListener('abort', onAbort, { once: true });
  const end = () => {
    clearTimeout(timer);
    outer.removeEventListener('abort', onAbort);
  };
  return { signal: over.signal, isOver: () => isOver, end };
}

/** Asks once and notes the outcome: `cancelled` if the attempt was ended from outside. */
async function noted<T>(
  ask: () => Promise<T>,
  { note, limit }: Pick<Asking, 'note'> & { limit: Limit },
): Promise<T> {
  const since = Date.now();
  try {
    const reply = await ask();
    note({ outcome: 'success', since });
    return reply;
  } catch (error) {
    const kind = error instanceof ModelError ? error.kind : limit.signal.aborted ? 'cancelled' : 'error';
    note({ outcome: limit.isOver() ? 'timeout' : kind, since });
    throw error;
  }
}

function named({ id }: Model, error: unknown) {
  const message = errorMessage(error);
  if (message.startsWith(`${id}: `)) return error;
  const name = `${id}: ${message}`;
  if (error instanceof EmptyReply) return new EmptyReply(error.kind, name, error.options);
  if (error instanceof ModelError) return new ModelError(error.kind, name, error.options);
  return new Error(name, { cause: error });
}
