import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../contract/json';
import { type ToolFailure, type ToolResult, withoutState } from '../contract/result';
import { type Approve, authorise, type Permitted } from './function-policy';
import type { CallLog } from './call-log';
import { prepare, uniqueIds } from './prepare';
import type { Registry } from './registry';
import { failureResult, type OutcomeFacts, type RunOutcome, toOutcome } from './outcome';
import { type HookEndEvent, type HookEvent, type Hooks, runHook } from './hooks';
import { type Ending, type InterruptedRun, runHandler, type Runner } from './run-handler';
import { messageOf } from './format-result';
import type { CallFacts, Live } from './context';
import { LONGEST_TIMER_MS } from './wait-within';
import { createSecrets, type SecretProvider, type Secrets } from './secrets';
import type { CallContext, Policy, Tool } from './types';
import type { FilePlan } from '../contract/plan';

/** The options of `createExecutor`. */
export interface ExecutorDeps {
  registry: Registry;
  hooks?: Hooks;
  /** Absent: nothing is logged. */
  log?: CallLog;
  /** @default handlers run in this process */
  runner?: Runner;
  /** Absent: safety decides. */
  policy?: Policy;
  /** The agent's name, for the policy. @default '' */
  agent?: string;
  /** Provides secrets to handlers. @default there are none */
  secrets?: SecretProvider;
}

/** A call for `execute`. */
interface ExecutorCall {
  /** The id of the call. A missing id is replaced by a random one. */
  id?: string;
  name: string;
  /** JSON text as the model wrote it, or an object. */
  arguments: string | JsonObject;
}

interface ExecuteOptions {
  /** Decides dangerous calls. Without this function they are denied. */
  approve?: Approve;
  /** Milliseconds for each handler. @default the tool's own timeout */
  timeoutMs?: number;
  /** Cancels running calls, and calls that have not started. */
  signal?: AbortSignal;
}

export interface BatchOptions extends ExecuteOptions {
  /** Whether all calls run at the same time instead of one after another. @default false */
  parallel?: boolean;
}

/** Runs tools and turns whatever happens into results. */
export interface Executor {
  /** Parses and validates the call, asks policy and person, and runs the handler. Never throws or rejects. */
  execute(call: ExecutorCall, options?: ExecuteOptions): Promise<ToolResult>;
  /** Results in the order of the calls, each under an id of its own; see uniqueIds. Never throws or rejects. */
  executeBatch(calls: readonly ExecutorCall[], options?: BatchOptions): Promise<ToolResult[]>;
}

/**
 * Makes an executor.
 *
 * @example
 * const executor = createExecutor({ registry: createRegistry(createWorkspaceTools({ root: '.' })) });
 * const result = await executor.execute({ name: 'read_file', arguments: { path: 'README.md' } });
 */
export function createExecutor(options: ExecutorDeps): Executor {
  const secrets = createSecrets(options.secrets, (message) => options.log?.warn(message));
  const deps: Equipped = { ...options, secrets, id: randomUUID() };
  const execute: Executor['execute'] = (call, options = {}) => executeSafely(identify(call), options, deps);
  return {
    execute,
    async executeBatch(calls, options = {}) {
      const ids = uniqueIds(calls);
      const tasks = calls.map((call, index) => () => execute({ ...call, id: ids[index] ?? '' }, options));
      return options.parallel === true ? Promise.all(tasks.map((task) => task())) : inTurn(tasks);
    },
  };
}

type Equipped = Omit<ExecutorDeps, 'secrets'> & {
  secrets: Secrets;
  /** Part of the key of shared state, which lives as long as this executor: there are no turns or workers here. */
  id: string;
};

async function inTurn<T>(tasks: readonly (() => Promise<T>)[]) {
  const results: T[] = [];
  for (const task of tasks) results.push(await task());
  return results;
}

type IdentifiedCall = ExecutorCall & { id: string };

/** The call with an id. Untyped callers may pass any value as a name or an id. */
function identify(call: ExecutorCall): IdentifiedCall {
  const given: { id?: unknown; name: unknown } = call;
  const id = typeof given.id === 'string' && given.id !== '' ? given.id : `call_${randomUUID()}`;
  const name = typeof given.name === 'string' ? given.name : messageOf(given.name);
  return { arguments: call.arguments, name, id };
}

async function executeSafely(
  call: IdentifiedCall,
  options: ExecuteOptions,
  deps: Equipped,
): Promise<ToolResult> {
  try {
    return await executeOne(call, options, deps);
  } catch (error) {
    const cancelled = options.signal?.aborted === true;
    const failure: ToolFailure = cancelled
      ? { code: 'cancelled', message: 'cancelled before it started; nothing ran' }
      : { code: 'unknown', message: messageOf(error) };
    return finishUnstarted(call, { failure, tool: deps.registry.get(call.name), args: {} }, deps);
  }
}

async function executeOne(
  call: IdentifiedCall,
  options: ExecuteOptions,
  deps: Equipped,
): Promise<ToolResult> {
  const prepared = prepare(deps.registry, call.name, call.arguments);
  if (!prepared.ok) return finishUnstarted(call, { ...prepared, args: prepared.proposed ?? {} }, deps);
  const { policy, agent = '', log } = deps;
  const { approve, signal } = options;
  const answer = await authorise(prepared, { agent, policy, approve, log, signal });
  if (!answer.ok) return finishUnstarted(call, { ...answer, tool: prepared.tool }, deps);
  const { result } = await runJob(toJob(call, answer, { ...options, agent, executor: deps.id }), deps);
  return answer.note === undefined ? result : { ...result, content: `${answer.note}\n\n${result.content}` };
}

/** The result of a call whose handler was never called. */
function finishUnstarted(
  call: IdentifiedCall,
  unfit: { failure: ToolFailure; tool: Tool | undefined; args: JsonObject },
  { log }: Equipped,
): ToolResult {
  const { failure, tool, args } = unfit;
  const head = { id: call.id, callId: call.id, tool: call.name, arguments: args };
  const result = failureResult({ ...head, server: tool?.server }, failure, {
    safety: tool?.safety ?? null,
  });
  log?.call(result.tool, tool?.safety ?? null, args);
  log?.end(result);
  return result;
}

function toJob(
  { id }: IdentifiedCall,
  { call, approved }: Permitted,
  by: ExecuteOptions & { agent: string; executor: string },
): RunJob {
  const { timeoutMs, signal, agent, executor } = by;
  const { state, stateGroup } = call.tool;
  return {
    tool: call.tool,
    value: call.value,
    call: { callId: id, id, arguments: call.args },
    approved,
    attempt: 1,
    idempotencyKey: randomUUID(),
    about: {
      agent,
      state: state === 'call' ? undefined : sharedState(JSON.stringify([executor, state, stateGroup]), false),
    },
    timeoutMs,
    signal,
  };
}

/** One execution of a tool. The caller has checked that it may run. */
export interface RunJob {
  tool: Tool;
  /** The arguments, as the tool's `parse` returned them. */
  value: unknown;
  call: { callId: string; id: string; arguments: JsonObject };
  /** Whether a person approved or modified the call. */
  approved: boolean;
  /** Counts from 1. */
  attempt: number;
  /** Whether an earlier attempt of the call may have run. @default false */
  ranBefore?: boolean;
  idempotencyKey: string;
  /** Cancels this execution. */
  signal?: AbortSignal;
  /**
   * Called right before the handler, after all other work that takes time. May abort `signal`; then the handler is not
   * started.
   * Contract: does not throw or reject.
   */
  beforeStart?(): void | Promise<void>;
  /** Milliseconds. @default the tool's own */
  timeoutMs?: number;
  plan?: FilePlan;
  hunks?: readonly string[];
  /** Facts about the turn for the handler's context. */
  about?: Partial<
    Pick<CallContext, 'agent' | 'turn' | 'requester' | 'metadata' | 'approval' | 'resumeFrom' | 'state'>
  >;
  /** Receives the handler's reports while it runs. */
  live?: Live;
  /**
   * Called with the late result of a handler. Such a handler ended after the grace, when `runJob` had already answered
   * that the outcome is not known. Not called if the outcome is still not known. Hooks do not see this result.
   * Contract: does not throw or reject. A violation is logged as a warning.
   */
  onLate?(result: ToolResult): unknown;
  /**
   * Called if the handler still runs when `runJob` answers; `over` resolves when it has ended and `onLate` was called.
   */
  onLeft?(over: Promise<void>): void;
}

/** The dependencies of an execution, besides its job. */
export interface RunDeps {
  hooks?: Hooks;
  log?: CallLog;
  runner?: Runner;
  /** Absent: there are no secrets. */
  secrets?: Secrets;
}

/** Runs hooks, log and handler, and makes the result. Never rejects. */
export async function runJob(job: RunJob, deps: RunDeps): Promise<RunOutcome> {
  const { tool, call } = job;
  const event: HookEvent = { tool: tool.name, callId: call.callId, arguments: call.arguments };
  deps.log?.call(tool.name, tool.safety, call.arguments);
  await before(event, deps);
  await job.beforeStart?.();
  const startedAt = performance.now();
  const timeoutMs = timeoutOf(job);
  const { runner, secrets } = deps;
  const ending = await runHandler({ ...job, runner, timeoutMs, deps, facts: factsOf(job) });
  const about = { startedAt, timeoutMs, hide: secrets?.hide ?? ((text: string) => text) };
  const outcome = outcomeOf(ending, job, about);
  if ('late' in ending && ending.finished === undefined) {
    const over = reportLate(ending, { job, deps, about });
    job.onLeft?.(over);
  }
  deps.log?.end(outcome.result);
  await after({ ...event, result: outcome.result }, deps);
  return outcome;
}

// Hooks only watch. They get copies, so that their changes to an event reach neither the handler nor the record.
async function before(event: HookEvent, { hooks, log }: RunDeps) {
  if (hooks?.before !== undefined)
    await runHook('before', () => hooks.before?.(structuredClone(event)), warning(log));
}

async function after(event: HookEndEvent, { hooks, log }: RunDeps) {
  const name = event.result.success ? 'after' : 'onError';
  if (hooks?.[name] !== undefined)
    await runHook(name, () => hooks[name]?.(structuredClone(event)), warning(log));
}

function warning(log: CallLog | undefined): (message: string) => void {
  return (message) => log?.warn(message);
}

/** The outcome. Its result always says when the handler began without the state that earlier calls had made. */
function outcomeOf(ending: Ending, job: RunJob, about: AboutRun): RunOutcome {
  const outcome = toOutcome(ending, aboutOf(job, about));
  const isLost = outcome.handler !== 'unstarted' && job.about?.state?.lost === true;
  return isLost ? { ...outcome, result: withoutState(outcome.result) } : outcome;
}

/** State that calls share in this process. */
export function sharedState(key: string, lost: boolean): NonNullable<CallContext['state']> {
  const state = { key, lost, declareLost: () => void (state.lost = true) };
  return state;
}

/** Facts about a run that an outcome needs besides the job. */
type AboutRun = Pick<OutcomeFacts, 'timeoutMs' | 'hide'> & { startedAt: number };

async function reportLate(
  ended: InterruptedRun,
  { job, deps, about }: { job: RunJob; deps: RunDeps; about: AboutRun },
) {
  const finished = await ended.late;
  try {
    const outcome = outcomeOf({ ...ended, finished }, job, about);
    if (outcome.outcomeKnown) await job.onLate?.(outcome.result);
  } catch (error) {
    deps.log?.warn(`a late outcome could not be reported: ${messageOf(error, about.hide)}`);
  }
}

function factsOf(job: RunJob): CallFacts {
  const { tool, call, idempotencyKey, attempt, ranBefore, plan, hunks, about } = job;
  return {
    ...about,
    callId: call.callId,
    tool: tool.name,
    idempotencyKey,
    attempt,
    ranBefore,
    plan,
    hunks,
  };
}

function aboutOf(job: RunJob, { startedAt, timeoutMs, hide }: AboutRun): OutcomeFacts {
  const { tool, call, approved, attempt, ranBefore = false } = job;
  const executionTimeMs = Math.round(performance.now() - startedAt);
  return {
    head: { ...call, tool: tool.name, server: tool.server },
    facts: { executionTimeMs, safety: tool.safety, approved, attempt },
    limitBytes: tool.outputLimit,
    timeoutMs,
    unsafe: tool.effect === 'unsafe',
    ranBefore,
    hide,
  };
}

function timeoutOf({ tool, timeoutMs }: RunJob) {
  const wanted = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : tool.timeoutMs;
  return Math.min(wanted, LONGEST_TIMER_MS);
}
