import { randomUUID } from 'node:crypto';
import { defined } from '../contract/defined';
import type { JsonObject } from '../contract/json';
import { type ToolFailure, type ToolResult, withoutState } from '../contract/result';
import { type Approve, authorise, type Permitted } from './policy';
import type { CallLog } from './call-log';
import { prepare, uniqueIds } from './prepare';
import type { Registry } from './registry';
import { failureResult, type OutcomeFacts, type RunOutcome, toOutcome } from './outcome';
import { type HookEndEvent, type HookEvent, type Hooks, runHook } from './hooks';
import { type Ending, type Interrupted, runHandler, type Runner } from './run-handler';
import { messageOf } from './format-result';
import type { CallFacts, Live } from './context';
import { createSecrets, type SecretProvider, type Secrets } from './secrets';
import type { CallContext, Policy, Tool } from './types';
import type { FilePlan } from '../contract/plan';

/** What an executor is made of. */
export interface ExecutorDeps {
  registry: Registry;
  hooks?: Hooks | undefined;
  /** Absent: nothing is logged. */
  log?: CallLog | undefined;
  /** @default handlers run in this process */
  runner?: Runner | undefined;
  /** Absent: safety decides. */
  policy?: Policy | undefined;
  /** The agent's name, for the policy. @default '' */
  agent?: string | undefined;
  /** Where handlers get secrets from. @default there are none */
  secrets?: SecretProvider | undefined;
}

/** One call as it is given to `execute`. */
export interface ExecutorCall {
  /** Made up where it is missing. */
  id?: string;
  name: string;
  /** JSON text as the model wrote it, or an object. */
  arguments: string | JsonObject;
}

export interface ExecuteOptions {
  /** Asked about dangerous calls; without it they are denied. */
  approve?: Approve;
  /** Milliseconds for each handler. @default the tool's own timeout */
  timeoutMs?: number;
  /** Cancels what runs and what has not started. */
  signal?: AbortSignal;
}

export interface BatchOptions extends ExecuteOptions {
  /** All at once instead of one after another. @default false */
  parallel?: boolean;
}

/** Runs tools and turns whatever happens into results. */
export interface Executor {
  /** Parses, validates, asks policy and person, runs. Never throws or rejects. */
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
  /** Without turns and workers, what its calls share lives as long as the executor. */
  id: string;
};

async function inTurn<T>(tasks: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  for (const task of tasks) results.push(await task());
  return results;
}

type IdentifiedCall = ExecutorCall & { id: string };

/** Callers without types may hand over anything as a name or an id. */
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
  const result = failureResult({ ...head, ...defined({ server: tool?.server }) }, failure, {
    safety: tool?.safety ?? null,
  });
  log?.call(result.tool, tool?.safety ?? null, args);
  log?.end(result);
  return result;
}

type By = ExecuteOptions & { agent: string; executor: string };

function toJob({ id }: IdentifiedCall, { call, approved }: Permitted, by: By): RunJob {
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
      ...(state === 'call'
        ? {}
        : { state: sharedState(JSON.stringify([executor, state, stateGroup]), false) }),
    },
    ...defined({ timeoutMs, signal }),
  };
}

/** One execution of a tool. The caller has checked that it may run. */
export interface RunJob {
  tool: Tool;
  /** The arguments, as the tool's `parse` returned them. */
  value: unknown;
  call: { callId: string; id: string; arguments: JsonObject };
  /** Whether a person approved or modified it. */
  approved: boolean;
  /** Counts from 1. */
  attempt: number;
  idempotencyKey: string;
  /** Cancels it. */
  signal?: AbortSignal;
  /**
   * Waited for right before the handler, after everything else that takes time; may abort `signal`, and then the handler
   * is not started.
   * Contract: does not throw or reject.
   */
  beforeStart?(): void | Promise<void>;
  /** Milliseconds. @default the tool's own */
  timeoutMs?: number;
  plan?: FilePlan;
  hunks?: readonly string[];
  /** What the handler learns of its turn beside the call itself. */
  about?: Partial<
    Pick<CallContext, 'agent' | 'turn' | 'requester' | 'metadata' | 'approval' | 'resumeFrom' | 'state'>
  >;
  /** Takes news of the work while it runs. */
  live?: Live;
  /**
   * Called with the result of a handler that ended after the grace, and so after `runJob` had answered that the outcome is not known; only where it is known now. Hooks do not see it.
   * Contract: does not throw or reject; the log is warned where it does.
   */
  onLate?(result: ToolResult): unknown;
  /** Called where the handler still runs when `runJob` answers; `over` resolves when it has ended and `onLate` was called. */
  onLeft?(over: Promise<void>): void;
}

/** What an execution needs besides its job. */
export interface RunDeps {
  hooks?: Hooks | undefined;
  log?: CallLog | undefined;
  runner?: Runner | undefined;
  /** Absent: there are none. */
  secrets?: Secrets | undefined;
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

// Hooks get copies: they watch, and what they do to an event must not reach what runs or what is recorded.
async function before(event: HookEvent, { hooks, log }: RunDeps): Promise<void> {
  if (hooks?.before !== undefined)
    await runHook('before', () => hooks.before?.(structuredClone(event)), warning(log));
}

async function after(event: HookEndEvent, { hooks, log }: RunDeps): Promise<void> {
  const name = event.result.success ? 'after' : 'onError';
  if (hooks?.[name] !== undefined)
    await runHook(name, () => hooks[name]?.(structuredClone(event)), warning(log));
}

function warning(log: CallLog | undefined): (message: string) => void {
  return (message) => log?.warn(message);
}

/** Its result says where the handler began without the state that earlier calls had made, whatever it says itself. */
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

interface LateReport {
  job: RunJob;
  deps: RunDeps;
  about: AboutRun;
}

/** What an outcome needs to know of the run beside its job. */
type AboutRun = Pick<OutcomeFacts, 'timeoutMs' | 'hide'> & { startedAt: number };

async function reportLate(ended: Interrupted, { job, deps, about }: LateReport): Promise<void> {
  const finished = await ended.late;
  try {
    const outcome = outcomeOf({ ...ended, finished }, job, about);
    if (outcome.outcomeKnown) await job.onLate?.(outcome.result);
  } catch (error) {
    deps.log?.warn(`a late outcome could not be reported: ${messageOf(error, about.hide)}`);
  }
}

function factsOf({ tool, call, idempotencyKey, attempt, plan, hunks, about }: RunJob): CallFacts {
  return {
    ...about,
    callId: call.callId,
    tool: tool.name,
    idempotencyKey,
    attempt,
    ...defined({ plan, hunks }),
  };
}

function aboutOf(job: RunJob, { startedAt, timeoutMs, hide }: AboutRun): OutcomeFacts {
  const { tool, call, approved, attempt } = job;
  const executionTimeMs = Math.round(performance.now() - startedAt);
  return {
    head: { ...call, tool: tool.name, server: tool.server },
    facts: { executionTimeMs, safety: tool.safety, approved, attempt },
    limitBytes: tool.outputLimit,
    timeoutMs,
    unsafe: tool.effect === 'unsafe',
    hide,
  };
}

/** Node fires longer timers at once. */
const MOST_TIMER_MS = 2 ** 31 - 1;

function timeoutOf({ tool, timeoutMs }: RunJob): number {
  const wanted = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : tool.timeoutMs;
  return Math.min(wanted, MOST_TIMER_MS);
}
