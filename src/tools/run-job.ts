import type { JsonObject } from '../contract/json';
import type { FilePlan } from '../contract/plan';
import type { ToolResult } from '../contract/result';
import type { CallLog } from './call-log';
import { runHook, type HookEndEvent, type HookEvent, type Hooks } from './hooks';
import { toOutcome, type OutcomeFacts, type RunOutcome } from './outcome';
import { runHandler, type Ended } from './run-handler';
import type { Runner } from './runner';
import { messageOf } from './thrown';
import type { Tool } from './types';

/** One execution of a tool. Whoever asks for it has checked that it may run. */
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
  /** Called right before the handler, after everything that takes time; may abort `signal`, and then it is not started. */
  beforeStart?(): void;
  /** Milliseconds. @default the tool's own */
  timeoutMs?: number;
  plan?: FilePlan;
  hunks?: readonly string[];
  /**
   * Called with the result of a handler that ended after the grace, and so after `run` had answered that the outcome
   * is not known. Hooks do not see it.
   * Contract: does not throw or reject; the log is warned where it does.
   */
  onLate?(result: ToolResult): unknown;
}

/** What an execution needs besides its job. */
export interface RunDeps {
  hooks?: Hooks | undefined;
  log?: CallLog | undefined;
  runner?: Runner | undefined;
}

/** Runs hooks, log and handler, and makes the result. Never rejects. */
export async function runJob(job: RunJob, deps: RunDeps): Promise<RunOutcome> {
  const { tool, call } = job;
  const event: HookEvent = { tool: tool.name, callId: call.callId, arguments: call.arguments };
  deps.log?.call(tool.name, tool.safety, call.arguments);
  await before(event, deps);
  job.beforeStart?.();
  const startedAt = performance.now();
  const timeoutMs = timeoutOf(job);
  const ending = await runHandler({ ...job, runner: deps.runner, timeoutMs, context: toContext(job) });
  const outcome = toOutcome(ending, aboutOf(job, startedAt, timeoutMs));
  if ('late' in ending && ending.settled === undefined)
    void reportLate(ending, { job, deps, startedAt, timeoutMs });
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

interface LateReport {
  job: RunJob;
  deps: RunDeps;
  startedAt: number;
  timeoutMs: number;
}

async function reportLate(ended: Ended, { job, deps, startedAt, timeoutMs }: LateReport): Promise<void> {
  const settled = await ended.late;
  try {
    await job.onLate?.(toOutcome(settled, aboutOf(job, startedAt, timeoutMs)).result);
  } catch (error) {
    deps.log?.warn(`a late outcome could not be reported: ${messageOf(error)}`);
  }
}

function toContext({ tool, call, idempotencyKey, attempt, plan, hunks }: RunJob) {
  return {
    callId: call.callId,
    tool: tool.name,
    idempotencyKey,
    attempt,
    ...(plan === undefined ? {} : { plan }),
    ...(hunks === undefined ? {} : { hunks }),
  };
}

function aboutOf(job: RunJob, startedAt: number, timeoutMs: number): OutcomeFacts {
  const { tool, call, approved, attempt } = job;
  const executionTimeMs = Math.round(performance.now() - startedAt);
  return {
    head: { ...call, tool: tool.name, server: tool.server },
    facts: { executionTimeMs, safety: tool.safety, approved, attempt },
    limitBytes: tool.outputLimit,
    timeoutMs,
  };
}

/** Node fires longer timers at once. */
const MOST_TIMER_MS = 2 ** 31 - 1;

function timeoutOf({ tool, timeoutMs }: RunJob): number {
  const wanted = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : tool.timeoutMs;
  return Math.min(wanted, MOST_TIMER_MS);
}
