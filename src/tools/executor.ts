import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../contract/json';
import type { ToolFailure, ToolResult } from '../contract/result';
import type { Approve } from './approve';
import { authorise, type Permitted } from './authorise';
import type { CallLog } from './call-log';
import type { Hooks } from './hooks';
import type { RunOutcome } from './outcome';
import { uniqueIds } from './parse-calls';
import { prepare } from './prepare';
import type { Registry } from './registry';
import { failureResult } from './result';
import { runJob, type RunJob } from './run-job';
import type { Runner } from './runner';
import { messageOf } from './thrown';
import type { Policy, Tool } from './types';

export type { RunJob } from './run-job';
export type { RunOutcome } from './outcome';

/** What an executor is made of. */
export interface ExecutorDeps {
  registry: Registry;
  hooks?: Hooks | undefined;
  /** Absent: nothing is logged. */
  log?: CallLog | undefined;
  /** @default handlers run in this process */
  runner?: Runner | undefined;
  /** For `execute` only; whoever uses `run` has asked it. Absent: safety decides. */
  policy?: Policy | undefined;
  /** The agent's name that the policy is told. @default '' */
  agent?: string | undefined;
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
  /** The lower part: for those that have checked already that the call may run. Never rejects. */
  run(job: RunJob): Promise<RunOutcome>;
}

/** Makes an executor. */
export function createExecutor(deps: ExecutorDeps): Executor {
  const execute: Executor['execute'] = (call, options = {}) => executeSafely(identify(call), options, deps);
  return {
    execute,
    async executeBatch(calls, options = {}) {
      const ids = uniqueIds(calls);
      const tasks = calls.map((call, index) => () => execute({ ...call, id: ids[index] ?? '' }, options));
      return options.parallel === true ? Promise.all(tasks.map((task) => task())) : inTurn(tasks);
    },
    run: (job) => runJob(job, deps),
  };
}

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
  deps: ExecutorDeps,
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
  deps: ExecutorDeps,
): Promise<ToolResult> {
  const prepared = prepare(deps.registry, call.name, call.arguments);
  if (!prepared.ok) return finishUnstarted(call, prepared, deps);
  const { policy, agent = '', log } = deps;
  const { approve, signal } = options;
  const answer = await authorise(prepared, { agent, policy, approve, log, signal });
  if (!answer.ok) return finishUnstarted(call, { ...answer, tool: prepared.tool }, deps);
  const { result } = await runJob(toJob(call, answer, options), deps);
  return answer.note === undefined ? result : { ...result, content: `${answer.note}\n\n${result.content}` };
}

/** The result of a call whose handler was never called. */
function finishUnstarted(
  call: IdentifiedCall,
  unfit: { failure: ToolFailure; tool: Tool | undefined; args: JsonObject },
  { log }: ExecutorDeps,
): ToolResult {
  const { failure, tool, args } = unfit;
  const head = { id: call.id, callId: call.id, tool: call.name, arguments: args };
  const server = tool === undefined ? {} : { server: tool.server };
  const result = failureResult({ ...head, ...server }, failure, { safety: tool?.safety ?? null });
  log?.call(result.tool, tool?.safety ?? null, args);
  log?.end(result);
  return result;
}

function toJob({ id }: IdentifiedCall, { call, approved }: Permitted, options: ExecuteOptions): RunJob {
  const { timeoutMs, signal } = options;
  return {
    tool: call.tool,
    value: call.value,
    call: { callId: id, id, arguments: call.args },
    approved,
    attempt: 1,
    idempotencyKey: randomUUID(),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(signal === undefined ? {} : { signal }),
  };
}
