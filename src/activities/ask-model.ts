import { errorMessage } from '../contract/errors';
import type { JsonObject } from '../contract/json';
import { span } from '../contract/text/times';
import type { TurnOrigin } from '../contract/call';
import { addUsage, estimatedTokens, type Usage } from '../contract/spending/usage';
import { type Model, ModelError, type ModelReply, type ModelRequest, type Settle } from '../models/model';
import { modelOf } from '../models/providers';
import type { Agent } from '../tools/define-agent';
import { unlessAborted } from '../tools/within';
import { type AttemptGuard, describeLostAttempt, startHeartbeat } from './attempt';
import type { ActivityDeps } from './deps';
import { lackOf, leaveToAnother, modelFailure } from './failures';
import { EmptyReply, ModelTries } from './model-tries';
import { inChatSpan } from './spans';

/** The model that one attempt asks. */
export interface Asking {
  model: Model;
  guard: AttemptGuard;
  /** How long it may ask from now on. */
  timeLeft(): number;
  /** Waits until the provider has room for a request of so many bytes. */
  admit(bytes: number): Promise<Settle>;
  /** Takes how one question to the model ended. */
  note(asked: { outcome: string; since: number }): void;
  /** Asks once, in a span. */
  inSpan(request: Omit<ModelRequest, 'signal'>, ask: () => Promise<ModelReply>): Promise<ModelReply>;
}

/** For whom a model is asked. */
interface AskedFor {
  agent: Agent;
  /** One of the agent's `models`. */
  named: string | undefined;
  origin?: TurnOrigin | undefined;
  /** How asking failed in an activity before. */
  tried?: JsonObject | undefined;
}

/**
 * Does what needs a model of the agent. What it throws becomes the failure that has this model tried again, the next one
 * asked, or the activity ended.
 */
export async function withModel<T>(
  deps: ActivityDeps,
  { agent, named, origin, tried }: AskedFor,
  work: (asking: Asking) => Promise<T>,
): Promise<T> {
  const tries = new ModelTries(agent, modelsFor(deps, agent, named), tried);
  tries.checkOver();
  const guard = startHeartbeat(tries.details);
  try {
    const { model } = tries;
    const of = { agent: agent.name, model: model.id };
    const note: Asking['note'] = (asked) =>
      deps.observe?.({ kind: 'model', ...of, ...asked, at: Date.now() });
    const asked = { ...of, origin };
    const inSpan: Asking['inSpan'] = (request, ask) => inChatSpan(deps, asked, { request, ask });
    const admit = admission(deps, { model, guard, of });
    return await work({ model, guard, timeLeft: () => tries.timeLeft(), admit, note, inSpan });
  } catch (error) {
    // Stopped first: another heartbeat would replace the details that the failure leaves for the next attempt.
    guard.stop();
    throw tries.failureOf(error);
  } finally {
    guard.stop();
  }
}

/** How an attempt waits for its model's provider: said to people who look, and measured where it waited. */
function admission(
  { report, observe }: ActivityDeps,
  { model, guard, of }: Pick<Asking, 'model' | 'guard'> & { of: { agent: string; model: string } },
): Asking['admit'] {
  const say = (text: string): void => (report ?? guard.report)({ progress: { text } });
  return async (bytes) => {
    if (model.admit === undefined) return () => undefined;
    const since = performance.now();
    let hasWaited = false;
    const onWait = (): void => {
      hasWaited = true;
      say(`waits until the provider of ${model.id} has room`);
    };
    try {
      return await model.admit({ tokens: estimatedTokens(bytes), signal: guard.signal, onWait });
    } finally {
      if (hasWaited) {
        observe?.({ kind: 'held', ...of, ms: performance.now() - since });
        say(`asks ${model.id}`);
      }
    }
  };
}

/** The agent of this name; where this worker lacks it, another one of the queue may have it. */
export function agentOf(deps: ActivityDeps, name: string): Agent {
  const agent = deps.agents.get(name);
  if (agent !== undefined) return agent;
  throw leaveToAnother(deps, lackOf(deps, { agent: name }) ?? name);
}

/**
 * The models of an agent, in the order in which they are asked: its own or the one that is named, then those of `fallback`.
 * Another worker may have a model that this one lacks.
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
 * Lets `ask` ask the model once its provider has room for so many bytes, as long as the attempt has time and is ours. What it
 * throws names the model.
 */
export async function inTime<T>(
  asking: Asking,
  bytes: number,
  ask: (generate: Generate) => Promise<T>,
): Promise<T> {
  const { model, guard } = asking;
  try {
    return await askWithin(asking, await asking.admit(bytes), ask);
  } catch (error) {
    const lostReason = guard.lost();
    // The next attempt asks again; it is not the model's fault.
    if (lostReason !== undefined)
      throw modelFailure(new Error(describeLostAttempt(lostReason), { cause: error }));
    throw named(model, error);
  }
}

async function askWithin<T>(
  { model, guard, timeLeft, note, inSpan }: Asking,
  settle: Settle,
  ask: (generate: Generate) => Promise<T>,
): Promise<T> {
  const timeoutMs = timeLeft();
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([timeout, guard.signal]);
  let used: Usage = {};
  const generate: Generate = (request) =>
    unlessAborted(
      model.generate({ ...request, signal }),
      // A model that ignores its signal must not hold the attempt.
      signal,
      () => new Error('the request was ended by its caller'),
    );
  try {
    return await ask(async (request) => {
      const one = (): Promise<ModelReply> => noted(() => generate(request), { note, timeout, signal });
      const reply = await inSpan(request, one);
      used = addUsage(used, reply.usage);
      settle(used);
      return reply;
    });
  } catch (error) {
    throw timeout.aborted ? tooSlow(timeoutMs, error) : error;
  }
}

/** Asks once, and notes how that ended: `cancelled` where the attempt was ended from outside. */
async function noted<T>(
  ask: () => Promise<T>,
  { note, timeout, signal }: Pick<Asking, 'note'> & { timeout: AbortSignal; signal: AbortSignal },
): Promise<T> {
  const since = Date.now();
  try {
    const reply = await ask();
    note({ outcome: 'success', since });
    return reply;
  } catch (error) {
    const kind = error instanceof ModelError ? error.kind : signal.aborted ? 'cancelled' : 'error';
    note({ outcome: timeout.aborted ? 'timeout' : kind, since });
    throw error;
  }
}

function tooSlow(timeoutMs: number, cause: unknown): ModelError {
  return new ModelError('timeout', `the model did not answer within ${span(timeoutMs)}`, {
    retryable: true,
    cause,
  });
}

function named({ id }: Model, error: unknown): unknown {
  const message = errorMessage(error);
  if (message.startsWith(`${id}: `)) return error;
  const name = `${id}: ${message}`;
  if (error instanceof EmptyReply) return new EmptyReply(error.kind, name, error.options);
  if (error instanceof ModelError) return new ModelError(error.kind, name, error.options);
  return new Error(name, { cause: error });
}
