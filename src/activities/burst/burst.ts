import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import {
  type BurstInput,
  type BurstOutput,
  type BurstStep,
  endedIn,
  type FirstInput,
  type Limited,
  refsOf,
  spanOf,
} from '../../contract/burst/burst';
import { fitInto, runsHere, whyCommit } from '../../contract/burst/goes-on';
import { errorMessage } from '../../contract/errors';
import { MIB, TIMES } from '../../contract/limits';
import { activityIds, ACTIVITIES } from '../../contract/names';
import { addSpent, countedInReply, noSpending, smallerOf, type Spent } from '../../contract/spending/budget';
import { NOTHING_REPEATED, type Repeated } from '../../contract/spending/carried';
import { afterStep } from '../../contract/repeats';
import { estimatedTokens } from '../../contract/spending/usage';
import { utf8Bytes } from '../../contract/text/bytes';
import type { GateMode, ThinkInput, ThinkOutput } from '../../contract/think';
import { entryBytes, replyEntry, resultEntry } from '../../contract/transcript';
import { type AttemptGuard, describeLostAttempt, startHeartbeat } from '../heartbeat';
import type { Memory } from '../conversation';
import type { ActivityDeps } from '../deps';
import { modelFailure, openTries, triedOf } from '../model/model-tries';
import { think } from '../think';
import { runCalls } from './calls';
import { asAttempt } from './inner-attempt';

/**
 * The most bytes that a burst returns, with room for encryption. Results that do not fit are left out, and the turn
 * runs their calls.
 */
const BURST_RESULT_BYTES = 1.75 * MIB;

/**
 * Takes step after step until something waits, has an effect or has to be on record, and returns all steps at once. Its
 * result commits the steps. Before the first step is complete, the burst fails as `think` does. After that it keeps its
 * steps, unless an operator holds the activity or the server no longer waits for it.
 */
export async function burst(deps: ActivityDeps, input: BurstInput): Promise<BurstOutput> {
  const guard = startHeartbeat(openTries(input.tried));
  const run = new Burst(deps, input, guard);
  try {
    return await run.steps();
  } finally {
    guard.stop();
  }
}

/**
 * Takes the first steps of a turn. This activity is also the `think` of the first step and has the timeout of that
 * `think`. A cancelled turn does not wait for this activity, so the activity takes a second at most, however rarely the
 * agent commits.
 */
export function firstBurst(
  deps: ActivityDeps,
  { burst: given, ...input }: Required<Pick<FirstInput, 'burst'>> & ThinkInput,
  gate: GateMode,
): Promise<BurstOutput> {
  const commitMs = Math.min(gate.commitMs, TIMES.commitEvery);
  const limits: Limited[] = [{ budget: {}, spent: noSpending(), sets: 'budget' }];
  return burst(deps, { ...input, burst: { commitMs, limits, repeated: NOTHING_REPEATED, ...given } });
}

class Burst {
  private readonly began = performance.now();
  private readonly context = Context.current();
  private readonly deps: ActivityDeps;
  private readonly done: BurstStep[] = [];
  private bytes = 0;
  private size: number;
  private repeated: Repeated;
  private limits: readonly Limited[];
  private spent: Spent = noSpending();
  private next: ThinkInput;
  private count: number;

  constructor(
    deps: ActivityDeps,
    private readonly input: BurstInput,
    private readonly guard: AttemptGuard,
  ) {
    const texts = deps.texts && { open: this.openText(deps.texts) };
    this.deps = { ...deps, memory: burstMemory(deps.memory), texts };
    this.size = input.burst.size;
    this.repeated = input.burst.repeated;
    this.limits = input.burst.limits;
    this.next = input;
    this.count = (input.after?.count ?? 0) + input.results.length + input.words.length;
  }

  async steps(): Promise<BurstOutput> {
    for (;;) {
      const asked = this.now();
      const failed = await this.think(asked);
      if (failed !== undefined) return this.output(failed);
      const step = this.done.at(-1);
      if (step === undefined || !(await this.runCalls(step)) || this.isOver(step)) return this.output();
    }
  }

  /** Asks the model and notes its reply. Returns why that failed, if earlier steps are to be kept. */
  private async think(asked: number): Promise<BurstOutput['failed']> {
    const { step } = this.next;
    const isFirst = this.done.length === 0;
    const own = {
      activityId: activityIds.think(step),
      activityType: ACTIVITIES.think,
      attempt: isFirst ? Context.current().info.attempt : 1,
      startToCloseTimeoutMs: Math.min(TIMES.thinkTimeout, this.leftMs()),
    };
    let tries: unknown;
    const keep = (details: unknown): void => void (tries = details);
    const first = { isFirst, heartbeat: isFirst ? this.leave : keep };
    // The added count makes this time later than that of the step before, however quick that step was.
    const sinceMs = asked + this.done.length;
    const outer = { signal: this.guard.signal, ...first, sinceMs };
    try {
      const reply = await asAttempt(own, outer, () => think(this.deps, this.next));
      this.note(reply, asked);
      return undefined;
    } catch (error) {
      this.throwIfGone(error);
      if (isFirst) throw error;
      return failedWith(error, tries);
    }
  }

  /** Leaves details for the next attempt. They must be the last heartbeat of this attempt. */
  private readonly leave = (details: unknown) => {
    this.guard.stop();
    this.context.heartbeat(details);
  };

  private note(reply: ThinkOutput, asked: number) {
    const replied = this.now();
    this.size += entryBytes(replyEntry(reply));
    const counted = { estimate: estimatedTokens(this.size), time: replied - asked };
    this.spent = addSpent(this.spent, countedInReply(reply, counted));
    this.limits = this.limits.map((one) =>
      one.sets === undefined ? one : { ...one, budget: smallerOf(reply[one.sets], one.budget) },
    );
    this.count += 1;
    const step = { reply, asked, replied };
    this.bytes += bytesOf(step);
    this.done.push(step);
  }

  /** Runs the calls of a reply here. False: the calls are left to the turn. */
  private async runCalls(step: BurstStep) {
    const { reply } = step;
    if (!runsHere(reply, this.repeated) || !fitInto(this.leftMs() - TIMES.closeMargin, reply)) return false;
    const { agent, origin, burst } = this.input;
    const { originalRunId, dry } = burst;
    const of = { agent, replyId: reply.replyId, originalRunId, origin, dry };
    const { deps, guard } = this;
    const now = () => this.now();
    const calls = await runCalls(reply.calls, { deps, of, order: reply.order, signal: guard.signal, now });
    this.throwIfGone();
    if (calls === undefined || guard.lost() !== undefined) return false;
    const bytes = bytesOf(calls);
    // The calls run again in the turn, where each result has a payload of its own.
    if (this.bytes + bytes > BURST_RESULT_BYTES) return false;
    this.bytes += bytes;
    step.calls = calls;
    this.goOn(step);
    return true;
  }

  private goOn(step: BurstStep) {
    const { reply } = step;
    const ended = endedIn(step);
    const results = refsOf(ended);
    for (const { call, result, contentDigest } of ended) {
      this.deps.memory.keepContent(contentDigest, result.content);
      this.size += entryBytes(resultEntry(call, result));
    }
    const digests = results.map(({ digest }) => digest);
    const { repeated } = this;
    this.repeated = afterStep({ repeated, repeats: reply.repeats }, reply.calls, digests);
    this.spent = addSpent(this.spent, { ...noSpending(), time: spanOf(step) });
    const { agent, origin, model, session, step: number } = this.next;
    const droppedBefore = reply.droppedBefore ?? this.next.droppedBefore;
    const after = { replyId: reply.replyId, count: this.count };
    const same = { agent, droppedBefore, origin, model, session };
    this.next = { ...same, step: number + 1, after, words: [], results };
    this.count += results.length;
  }

  /** Whether the steps so far have to be on record before the model is asked again. */
  private isOver({ reply }: BurstStep) {
    const { commitMs } = this.input.burst;
    const { bytes, size, spent, limits } = this;
    const soFar = { ms: this.now(), bytes, size, step: this.next.step - 1, maxSteps: reply.maxSteps };
    return this.guard.lost() !== undefined || whyCommit({ ...soFar, commitMs, limits, spent }) !== undefined;
  }

  /**
   * Gives up the steps that are not on record. This happens if a pause holds the next step, or if the server
   * takes no late result.
   */
  private throwIfGone(error?: unknown) {
    const why = this.guard.lost();
    if (why === undefined) return;
    if (this.done.length > 0 && (why === 'cancelled' || why === 'shutdown')) return;
    if (why === 'cancelled') throw new CancelledFailure(describeLostAttempt(why));
    throw error ?? modelFailure(new Error(describeLostAttempt(why)));
  }

  private output(failed?: BurstOutput['failed']): BurstOutput {
    // Work that was given up because the worker ends or the turn was cancelled did not fail.
    const isOurs = this.guard.lost() === undefined;
    return { steps: this.done, ms: this.now(), failed: isOurs ? failed : undefined };
  }

  private openText({ open }: NonNullable<ActivityDeps['texts']>) {
    const { step: from } = this.input;
    return (step: number) =>
      open(step, (text) => this.guard.report({ text, step }), step === from ? undefined : from);
  }

  /** The time until the timeout of the activity, in milliseconds. */
  private leftMs() {
    return this.context.info.startToCloseTimeoutMs - this.now();
  }

  private now() {
    return Math.round(performance.now() - this.began);
  }
}

/** Why asking for a later step failed, with the state from which the next activity continues. */
function failedWith(error: unknown, tries: unknown): BurstOutput['failed'] {
  const message = errorMessage(error);
  if (!(error instanceof ApplicationFailure)) return { message };
  const { nextRetryDelay: waitMs, nonRetryable } = error;
  const tried = triedOf(tries, nonRetryable === true ? error : undefined);
  const wait = typeof waitMs === 'number' ? waitMs : undefined;
  return {
    message,
    waitMs: wait,
    tried,
    isLast: nonRetryable === true ? nonRetryable : undefined,
  };
}

function bytesOf(value: unknown) {
  return utf8Bytes(JSON.stringify(value));
}

/**
 * A memory of the worker that forgets nothing of one burst. Missing entries would be read from the turn, and the turn
 * does not have the steps of a burst that is still running.
 */
function burstMemory(memory: Memory): Memory {
  const transcripts = new Map<string, Parameters<Memory['remember']>[1]>();
  const contents = new Map<string, string>();
  return {
    transcript: (run, replyId) => {
      const known = transcripts.get(run);
      return known?.replyId === replyId ? known : memory.transcript(run, replyId);
    },
    remember: (run, remembered) => {
      transcripts.set(run, remembered);
      memory.remember(run, remembered);
    },
    content: (digest) => contents.get(digest) ?? memory.content(digest),
    keepContent: (digest, content) => {
      contents.set(digest, content);
      memory.keepContent(digest, content);
    },
  };
}
