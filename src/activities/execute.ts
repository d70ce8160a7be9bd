import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { WorkflowUpdateFailedError, WorkflowUpdateStage } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { MAY_HAVE_RUN, mayHaveRun, saysMayHaveRun, withDecisionNote } from '../contract/call-texts';
import { makeFailure, type ToolFailure, type ToolResult } from '../contract/result';
import type { RunOutcome } from '../tools/outcome';
import { runJob, type RunJob } from '../tools/executor';
import type { Live } from '../tools/context';
import type { Approval, CallContext, Tool } from '../tools/types';
import { sha256 } from '../system/sha256';
import type { ActivityDeps } from './deps';
import { type AttemptGuard, earlierBeat } from './heartbeat';
import type { HeldState } from './held-state';
import { inToolSpan } from './spans';
import { KeyedLimiter } from '../contract/job-limiter';
import { LIMITS } from '../contract/limits';
import { FAILURES, SIGNALS, UPDATES } from '../contract/names';
import { unlessAborted } from '../tools/wait-within';
import type {
  CallInput,
  CallOutput,
  AskedQuestion,
  CallReply,
  CallQuestion,
  StartedBy,
} from '../contract/call';
import type { GrantUse } from '../contract/policy-rule';

/** One execution of a call, with everything that its steps need. */
export interface Execution {
  deps: ActivityDeps;
  tool: Tool;
  input: CallInput;
  /** `<callKey>:<generation>`. The handler gets it as its idempotency key. */
  key: string;
  /** The arguments in the form that the handler takes. */
  value: unknown;
  /** Set only if the tool shares state between its calls. */
  state?: HeldState;
  startedBy: StartedBy;
}

/**
 * The output with a final result. The worker keeps the text of the result, so that it need not be sent for the next
 * step.
 */
export function cachedOutput(deps: ActivityDeps, result: ToolResult): CallOutput {
  const digest = sha256(result.content);
  deps.memory.keepContent(digest, result.content);
  return { result, contentDigest: digest };
}

/** An error result of a call whose handler did not start. This worker may lack its tool. */
export function notRunResult(
  { tool, input }: { tool: Tool | undefined; input: CallInput },
  failure: ToolFailure,
): ToolResult {
  const facts = {
    timestamp: new Date().toISOString(),
    safety: tool?.safety ?? null,
    approved: input.decision !== undefined,
    attempt: Context.current().info.attempt,
  };
  const head = tool === undefined ? input : { ...input, server: tool.server };
  // Nobody knows what the earlier run did.
  const message = mayHaveRun(input) ? saysMayHaveRun(failure.message) : failure.message;
  return withNote(input, makeFailure(head, { ...failure, message }, facts));
}

/**
 * Whether an earlier attempt may have run: on this task queue, on the queue of the worker that held the state of the
 * call, in the run that this run was reset from, or before a person let the call run again.
 */
export function ranBefore(input: CallInput): boolean {
  return isLaterAttempt() || mayHaveRun(input);
}

/**
 * Whether this is not the first attempt. An operator's reset sets the number of attempts back, but not the time of the
 * first attempt.
 */
export function isLaterAttempt(): boolean {
  const { attempt, currentAttemptScheduledTimestampMs, scheduledTimestampMs } = Context.current().info;
  return attempt > 1 || currentAttemptScheduledTimestampMs > scheduledTimestampMs;
}

/** Runs the handler, which is aborted when the attempt is given up. */
export async function execute(execution: Execution, guard: AttemptGuard): Promise<RunOutcome> {
  const { deps, tool, input, value, key, state } = execution;
  const { grant } = execution.startedBy;
  const job: RunJob = {
    tool,
    value,
    call: { callId: input.callId, id: input.id, arguments: input.arguments },
    approved: input.decision !== undefined || grant !== undefined,
    attempt: Context.current().info.attempt,
    ranBefore: ranBefore(input),
    idempotencyKey: key,
    signal: guard.signal,
    // The machine may have been frozen since the last check. A check of the clocks aborts the signal in that case. For
    // a repeatable call the server need not be asked.
    beforeStart: tool.effect === 'unsafe' ? () => guard.confirm() : () => void guard.lost(),
    timeoutMs: input.timeoutMs,
    about: {
      ...aboutTurn(input),
      approval: approvalOf(input, grant),
      resumeFrom: earlierBeat()?.checkpoint,
      state: state?.given,
    },
    live: { ...liveReporter(guard), ask: asker(input, guard) },
    onLate: lateReporter(execution),
    onLeft: (over) => keepAbandoned(key, over),
    plan: input.plan,
    hunks: input.decision?.hunks,
  };
  const outcome = await inToolSpan(deps, input, () => runJob(job, deps.run));
  if (outcome.handler !== 'unstarted' && state !== undefined) state.isUsed = true;
  return outcome;
}

/**
 * The most characters of a handler's output that a heartbeat carries. It carries the end of the output, which is the
 * newest part.
 */
const PARTIAL_CHARACTERS = 2000;

/** Puts the reports of a handler into the heartbeats of its attempt. */
function liveReporter(guard: AttemptGuard): Live {
  return {
    progress: (progress) => guard.report({ progress }),
    checkpoint: (checkpoint) => guard.report({ checkpoint }),
    partial: (text) => {
      const partial = `${guard.news().partial ?? ''}${text}`.slice(-PARTIAL_CHARACTERS);
      guard.report({ partial });
    },
  };
}

/**
 * Makes the function with which a running call asks a person: it sends an update to its own turn and waits for the
 * answer. Undefined if a call may not ask, and in a fork without effects, where nobody is asked. If this worker
 * dies, the turn closes the question together with the call. A withdrawal is sent only once the turn has the question,
 * and the next question waits until the turn has closed the withdrawn one.
 */
function asker(input: CallInput, guard: AttemptGuard): CallContext['ask'] {
  const { info } = Context.current();
  const { signal } = guard;
  const { secret, askMs, callId, callKey, generation } = input;
  if (secret === undefined || askMs === undefined || input.dry === true || info.isLocal) return undefined;
  const { client, log } = Context.current();
  const handle = client.workflow.getHandle(info.workflowExecution?.workflowId ?? '');
  const head = { callId, callKey, generation, secret, attempt: info.attempt };
  const givenUp = (): Error => new Error('the call was given up');
  const { runId = '' } = info.workflowExecution ?? {};
  let number = 0;
  // Settles once the turn has closed the previous question. The turn takes one question at a time, and may read two
  // messages in one task.
  let closed: Promise<unknown> = Promise.resolve();
  const takeBack = async (asked: AskedQuestion, taken: Promise<unknown>) => {
    try {
      await taken;
      await handle.signal(SIGNALS.withdraw, asked);
      return true;
    } catch (error) {
      log.warn('a question could not be withdrawn', { callId, error: String(error) });
      return false;
    }
  };
  return async (question, withdraw = new AbortController().signal) => {
    await unlessAborted(unlessAborted(closed, signal, givenUp), withdraw);
    withdraw.throwIfAborted();
    const asked = { ...head, number: ++number };
    const taken: { update?: Promise<unknown>; back?: Promise<boolean> } = {};
    if (questions.isFull(runId)) guard.report(IN_LINE);
    const reply = questions.run(runId, async () => {
      for (;;) {
        if (signal.aborted || withdraw.aborted) throw givenUp();
        const update = handle.startUpdate<CallReply, [CallQuestion]>(UPDATES.ask, {
          args: [{ ...asked, question }],
          waitForStage: WorkflowUpdateStage.ACCEPTED,
        });
        taken.update = update;
        try {
          return await (await update).result();
        } catch (error) {
          if (!isAskedLater(error)) throw error;
          guard.report(IN_LINE);
          await delay(ASK_AGAIN_MS, undefined, { signal });
        }
      }
    });
    // This runs immediately, so a question that is asked together with the withdrawal waits for it.
    const onWithdraw = () => {
      taken.back = taken.update === undefined ? Promise.resolve(true) : takeBack(asked, taken.update);
      closed = taken.back.then((isSent) => (isSent ? Promise.allSettled([reply]) : undefined));
    };
    withdraw.addEventListener('abort', onWithdraw, { once: true });
    try {
      return await unlessAborted(unlessAborted(reply, signal, givenUp), withdraw);
    } catch (error) {
      if (taken.back === undefined || signal.aborted) throw refusalIn(error);
      await unlessAborted(taken.back, signal, givenUp);
      throw error;
    } finally {
      withdraw.removeEventListener('abort', onWithdraw);
    }
  };
}

/** The time until a question is sent again for which calls on other workers left no room, in milliseconds. */
const ASK_AGAIN_MS = 2_000;

/** Limits the questions of this process that are under way in one run. Others wait until one is answered. */
const questions = new KeyedLimiter(LIMITS.questionsAtOnce);

/** What people see of a call that waits with its question. */
const IN_LINE = { progress: { text: 'waits in line to ask: other calls of this turn ask already' } };

/** Whether a turn does not ask yet, because other calls do. */
function isAskedLater(error: unknown) {
  const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
  return cause instanceof ApplicationFailure && cause.type === FAILURES.askLater;
}

/** The reason why the turn did not ask. */
function refusalIn(error: unknown) {
  const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
  return cause instanceof ApplicationFailure ? new Error(cause.message) : error;
}

/** The facts about the turn that the functions of a tool get. */
export type AboutTurn = Pick<CallContext, 'agent' | 'turn' | 'requester' | 'metadata'>;

/** The facts about the turn of the current activity. */
export function aboutTurn({ agent, origin }: Pick<CallInput, 'agent' | 'origin'>): AboutTurn {
  const { requester, metadata = {} } = origin ?? {};
  const turn = Context.current().info.workflowExecution?.workflowId;
  return { agent, metadata: { ...metadata }, turn, requester };
}

function approvalOf({ decision }: CallInput, grant: GrantUse | undefined): Approval | undefined {
  if (grant !== undefined) return { decision: 'approved', approver: grant.by };
  if (decision === undefined) return undefined;
  const { decision: word, approver, reason } = decision;
  return { decision: word, approver, reason };
}

/** The result as the model reads it, after a note on what a person changed or said. */
export function withNote(input: CallInput, result: ToolResult): ToolResult {
  const content = withDecisionNote(input, result.content);
  // A person let a call in doubt run again. If that failed, the first run may still have taken effect.
  const isUnsaid = !result.success && input.generation > 0 && !content.includes(MAY_HAVE_RUN);
  return { ...result, content: isUnsaid ? `${content}\n\n${MAY_HAVE_RUN}` : content };
}

/** Handlers that still run in this process although their calls were given up. The key is the idempotency key. */
const abandonedHandlers = new Map<string, Promise<void>>();

/** Remembers a handler until it has ended. */
function keepAbandoned(key: string, over: Promise<void>) {
  abandonedHandlers.set(key, over);
  void over.finally(() => abandonedHandlers.delete(key));
}

/**
 * Resolves when the handler of a call that was given up has ended and its outcome is written. Undefined if no such
 * handler runs.
 */
export function abandonedHandler(key: string): Promise<void> | undefined {
  return abandonedHandlers.get(key);
}

/** Handles a result that arrives after its call was given up. Never rejects. */
type Report = (result: ToolResult) => Promise<void>;

/**
 * Reports the outcome of a handler that ends after its call was given up. A known outcome settles the doubt, unless a
 * person was first.
 */
function lateReporter(execution: Execution): Report {
  const signal = outcomeReporter(execution);
  return async (result) => {
    if (execution.tool.effect !== 'unsafe') return;
    const noted = withNote(execution.input, result);
    await writeOutcome(execution, noted);
    await signal(noted);
  };
}

/**
 * Makes the function that signals the outcome to the current run of the turn. A reset may have made another run, but
 * the key says which call the outcome is for. The turn may be closed by then. The journal has the outcome all the same.
 */
export function outcomeReporter({ input }: Pick<Execution, 'input'>): Report {
  // The context is read now: when the outcome comes, the activity and its context are over.
  const context = Context.current();
  const { callKey, generation, callId, secret = '' } = input;
  return async (result) => {
    try {
      const handle = context.client.workflow.getHandle(context.info.workflowExecution?.workflowId ?? '');
      await handle.signal(SIGNALS.outcome, { callKey, generation, secret, result });
    } catch (error) {
      context.log.warn('a late outcome could not be reported', { callId, error: String(error) });
    }
  };
}

/**
 * Writes an outcome to the journal. If that fails, the failure is logged and the outcome is still returned, because the
 * effect has happened.
 */
export async function writeOutcome(
  { deps, input, key }: Pick<Execution, 'deps' | 'input' | 'key'>,
  result: ToolResult,
): Promise<void> {
  try {
    await deps.journal.end(key, result);
  } catch (error) {
    const facts = { callId: input.callId, error: String(error) };
    deps.log.warn('an outcome could not be written to the journal', facts);
  }
}
