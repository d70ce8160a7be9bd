import { CancelledFailure } from '@temporalio/workflow';
import { estimatedTokens } from '../contract/spending/usage';
import {
  addSpent,
  addTime,
  amountText,
  type Budget,
  BUDGET_KINDS,
  budgetText,
  countedInReply,
  type Crossing,
  crossingOf,
  raised,
  raiseSchema,
  smallerOf,
  spentText,
} from '../contract/spending/budget';
import type { Limited } from '../contract/burst/burst';
import { isValidCall, type PreparedCall, type ValidCall } from '../contract/call';
import { whyInvalid } from '../contract/call-texts';
import { raiseCall } from '../contract/spending/raise';
import { prepareRaise } from './prepare-call';
import { RAISE_BUDGET, RAISE_SESSION_BUDGET } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import type { CarriedSpending } from '../contract/spending/carried';
import type { CallState, DoneCall } from '../lifecycle/state';
import { act, callIn } from './call-life';
import { recordCall } from './publish';
import { askingCalls } from './questions';
import { runStep } from './step';
import { countRequest } from './counts';
import type { StepHook, Turn, TurnEnding, TurnRuntime } from './turn-state';
import { isDry } from '../contract/dry-run';

/**
 * Counts what a reply has used. Only the first reply sets the budget that the agent allows. Budget that people add
 * later therefore stays.
 */
export function countReply(turn: Turn, output: ThinkOutput, thoughtMs: number): void {
  const { spending, ofSession } = turn;
  const estimate = estimatedTokens(turn.transcript.size);
  spending.spent = addSpent(spending.spent, countedInReply(output, { estimate, time: thoughtMs }));
  if (!spending.isSet) allow(spending, output.budget);
  if (ofSession?.isSet === false) allow(ofSession, output.sessionBudget);
  spending.isSet = true;
}

/**
 * Sets a budget. What the agent says about asking people takes precedence. Whoever starts a turn or a session can only
 * make the amounts smaller.
 */
function allow(spending: CarriedSpending, allowed: Budget | undefined) {
  spending.isSet = BUDGET_KINDS.some((kind) => allowed?.[kind] !== undefined);
  spending.budget = smallerOf(allowed, spending.budget);
}

/** A budget that is used up. */
interface UsedUp {
  crossing: Crossing;
  /** Nobody is asked for more budget. */
  isFinal: boolean;
  /** The budget that is used up, and what was spent. */
  of: CarriedSpending;
  /** Why the turn cannot go on, in words. */
  why: string;
  /** Whether this is the budget of the session. */
  isSession: boolean;
}

/**
 * The budget that is used up: the turn's own, the session's, or the rest of the parent's budget. Nobody can raise the
 * parent's budget here.
 */
function usedUp({ spending, cap, ofSession }: Turn): UsedUp | undefined {
  const capped = crossingOf(cap, spending.spent);
  const own = { of: spending, isSession: false };
  if (capped !== undefined) return { crossing: capped, isFinal: true, why: crossingText(capped), ...own };
  if (ofSession !== undefined) {
    const of = { ...ofSession, spent: addSpent(ofSession.spent, spending.spent) };
    const crossing = crossingOf(of.budget, of.spent);
    const isFinal = of.budget.then !== 'ask';
    if (crossing !== undefined)
      return { crossing, isFinal, of, why: crossingText(crossing, 'its session'), isSession: true };
  }
  const crossing = crossingOf(spending.budget, spending.spent);
  if (crossing === undefined) return undefined;
  return { crossing, isFinal: spending.budget.then !== 'ask', why: crossingText(crossing), ...own };
}

/** All budgets that hold for the next steps, with their spending so far. */
export function budgetsOf({ spending, cap, ofSession }: Turn): Limited[] {
  const { spent } = spending;
  const limits: Limited[] = [
    { budget: cap, spent },
    { budget: spending.budget, spent, sets: spending.isSet ? undefined : 'budget' },
  ];
  if (ofSession !== undefined) {
    const sets = ofSession.isSet ? {} : { sets: 'sessionBudget' as const };
    limits.push({ budget: ofSession.budget, spent: addSpent(ofSession.spent, spent), ...sets });
  }
  return limits;
}

/** The budgets of a turn: before each step people are asked for more, or the turn ends. */
export const BUDGETS: StepHook = {
  // A step from another build goes on first.
  before: (turn, runtime) =>
    turn.moved !== undefined || usedUp(turn) === undefined ? undefined : moreOrEnd(turn, runtime),
  carry: ({ spending, children }) => ({ spending, children }),
};

async function moreOrEnd(turn: Turn, runtime: TurnRuntime): Promise<TurnEnding | undefined> {
  const why = await askForMore(turn, runtime);
  if (why !== undefined) return { status: 'budget', why };
  if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
  return undefined;
}

/**
 * Asks a person for more, until enough is left of each kind.
 *
 * @returns why the turn has to end, in words. Undefined if it may go on.
 */
async function askForMore(turn: Turn, runtime: TurnRuntime) {
  for (let asked = 1; ; asked++) {
    const used = usedUp(turn);
    if (used === undefined || turn.approvals.cancelled) return undefined;
    const { isFinal, why, isSession } = used;
    if (isFinal || isDry(turn)) return why;
    const request = await ruledOn(turn, requestOf(turn, used, asked));
    if (turn.approvals.cancelled) return undefined;
    if (!isValidCall(request)) return `${why}; ${whyInvalid(request)}`;
    const state = await decided(turn, request, runtime);
    const { result } = state;
    countRequest(turn.counts, { state, result, isRequest: true });
    if (!result.success) {
      if (turn.approvals.cancelled) return undefined;
      return `${why}; ${result.error?.message ?? 'nobody allowed more'}`;
    }
    const raises = isSession ? turn.ofSession : turn.spending;
    if (raises !== undefined) raises.budget = raised(raises.budget, state.effective);
  }
}

/** The request with the people who decide on it by the rules of a worker, or the reason why nobody is asked. */
async function ruledOn(turn: Turn, request: ValidCall): Promise<PreparedCall> {
  const prepared = await prepareRaise(turn, request);
  return isValidCall(prepared) ? { ...request, authority: prepared.authority } : prepared;
}

/** Waits for a decision on the request, which has the same inbox, decisions and expiry as the requests of calls. */
async function decided(turn: Turn, call: ValidCall, runtime: TurnRuntime): Promise<DoneCall> {
  recordCall(call);
  await runStep(turn, [call], runtime);
  const state = callIn(turn, call.callId);
  if (state.phase !== 'done') throw new Error(`call ${call.callId} ended without a result`);
  return state;
}

function requestOf(turn: Turn, { crossing, of, why, isSession }: UsedUp, asked: number): ValidCall {
  const { kind, limit, spent, currency } = crossing;
  const tool = isSession ? RAISE_SESSION_BUDGET : RAISE_BUDGET;
  const callId = `${turn.step}.budget${asked === 1 ? '' : asked}`;
  const schema = raiseSchema(kind);
  // The request asks for the same amount again. If the limit was 0, it asks for as much as was spent.
  const more = limit > 0 ? limit : Math.max(1, spent);
  const args = { [kind]: more };
  const { counts, children } = turn;
  const inTurn = `${counts.calls} calls${children === 0 ? '' : `, ${children} child turns`}`;
  const on = `${spentText(of.spent)}; ${isSession ? `${spentText(turn.spending.spent)} of it in this turn, ` : ''}${inTurn}`;
  const request = raiseCall({
    callId,
    tool,
    arguments: args,
    policyReason:
      `the turn cannot go on: ${why}. Spent so far: ${on}. ` +
      `${isSession ? "The session's" : 'Its'} budget: ${budgetText(of.budget)}. Approve to add ${amountText(kind, more, currency)}`,
  });
  act(turn, { type: 'knew', schemas: { [request.toolDigest]: schema } });
  return request;
}

/**
 * Counts the time in which calls of this turn were at work and did not wait for a person. A child turn counts its own
 * time.
 */
export class WorkClock {
  private since: number | undefined;

  constructor(private readonly turn: Turn) {}

  look(): void {
    const calls = [...this.turn.approvals.calls.values()];
    const asking = askingCalls(calls);
    const now = Date.now();
    const { spending } = this.turn;
    if (this.since !== undefined) spending.spent = addTime(spending.spent, Math.max(0, now - this.since));
    this.since = calls.some((state) => isAtWork(state, asking)) ? now : undefined;
  }
}

/** Whether a call waits neither for a person nor for the end of a pause. */
function isAtWork(state: CallState, asking: ReadonlySet<string>) {
  if (state.phase !== 'running') return state.phase === 'preparing';
  const { settings, callId } = state.call;
  return settings.child === undefined && !asking.has(callId) && state.isHeld !== true;
}

/** Why a turn cannot go on: `it has spent 102,113 tokens, and its budget is 100,000 tokens`. */
function crossingText({ kind, limit, spent, currency }: Crossing, who = 'it') {
  return `${who} has spent ${amountText(kind, spent, currency)}, and its budget is ${amountText(kind, limit, currency)}`;
}
