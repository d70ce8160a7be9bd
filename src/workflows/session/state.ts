import { defined } from '../../contract/defined';
import type { TurnOrigin } from '../../contract/call';
import type { KnownState } from '../../contract/tool';
import { LEAST_TO_SUMMARIZE } from '../../contract/limits';
import { describeIssues } from '../../contract/read-json';
import { guard, soundCheck } from '../../contract/schema/message';
import {
  SESSION_CONTROL,
  type CarriedSession,
  type SessionControl,
  type SessionInput,
  type SessionRefused,
  type SessionStates,
  type TurnMemory,
  type TurnRecord,
} from '../../contract/session';
import { addSpent, noSpending, smallerOf } from '../../contract/spending/budget';
import type { CarriedSpending } from '../../contract/spending/carried';
import type { OldestPart } from './compaction';
import { SessionMemory } from './memory';
import { type MessagesOf, queueLate, refuseMessage, type RunningTurn } from './queue';
import { SOMEBODY } from '../../contract/authority';
import { withRequesters } from '../../authority/votes/requesters';

/** The state of a session: a pure state machine. Message handlers and the main loop change it. */
export interface SessionMachine extends MessagesOf {
  /** The id of this run if a reset made it. Shared state of other runs then comes from turns that the reset undid. */
  readonly resetRun: string | undefined;
  /** Who began the session, and everybody whose words its turns have read. */
  origin?: TurnOrigin;
  /** The number of the last turn. */
  turns: number;
  memory: SessionMemory;
  /** The budget of the session, as its turns and people have set it, and what the session has spent. */
  spending: CarriedSpending;
  /**
   * See `limits.compactOver` of the agent, as the last turn reported it. Undefined: a summary is made only when
   * somebody asks for one.
   */
  compactOver: number | undefined;
  /**
   * `due`: a turn has ended, so the memory may be too long. `asked`: somebody asked. `running`: a model writes the
   * summary.
   */
  compaction: 'due' | 'asked' | 'running' | undefined;
  /** No model could write a summary. Until this turn, none is asked for again, because people would wait each time. */
  restsUntil: number;
  /** Which worker holds the state that the calls of the turns share, by `stateKeyOf`. */
  states: [string, KnownState][];
}

/** A session at its start, or as the previous run left it. */
export function makeSession(
  { agent, origin, budget, carried }: SessionInput,
  resetRun?: string,
): SessionMachine {
  return {
    agent,
    resetRun,
    origin,
    turns: carried?.turns ?? 0,
    running: undefined,
    waiting: [...(carried?.waiting ?? [])],
    known: new Map(carried?.known),
    paused: carried?.paused ?? false,
    closing: false,
    memory: new SessionMemory(carried),
    spending: carried?.spending ?? {
      budget: smallerOf(undefined, budget),
      isSet: false,
      spent: noSpending(),
    },
    compactOver: undefined,
    compaction: undefined,
    restsUntil: 0,
    states: statesIn({ runId: '', known: carried?.states ?? [] }, resetRun),
  };
}

/** The state for the next run. Made only between turns. */
export function carriedSession(session: SessionMachine): CarriedSession {
  const { turns, memory, waiting, known, paused, spending, states } = session;
  const held = states.length === 0 ? {} : { states };
  return { turns, waiting, known: [...known], paused, spending, ...held, ...memory.carried };
}

/**
 * The shared state as a turn left it. Where a reset made this run, the state is lost if the turn belonged to another
 * run.
 */
function statesIn({ runId, known }: SessionStates, resetRun: string | undefined): SessionMachine['states'] {
  return resetRun === undefined || resetRun === runId ? known : known.map(([key]) => [key, { lost: true }]);
}

const controlIssues = soundCheck(SESSION_CONTROL);
const isControl = guard(SESSION_CONTROL);

/** Reads a control message, or says why it is refused. Changes nothing. */
export function judgeControl(session: SessionMachine, value: unknown): SessionControl | SessionRefused {
  if (!isControl(value))
    return refuseMessage('malformed', `not a control of a session: ${describeIssues(controlIssues(value))}`)
      .refused;
  const { memory, running } = session;
  const turns = memory.turnsKept + (running === undefined ? 0 : 1);
  if (value.action === 'compact' && turns < LEAST_TO_SUMMARIZE)
    return refuseMessage('refused', NOTHING).refused;
  return value;
}

const NOTHING =
  'there is nothing to summarize: a summary takes the place of all turns but the last, and there is no other turn word by word';

/** Applies a control message. The same message twice has the same effect as once. */
export function takeControl(session: SessionMachine, { action, cancel }: SessionControl): void {
  if (action === 'pause') session.paused = true;
  else if (action === 'resume') session.paused = false;
  else if (action === 'compact') session.compaction = session.compaction === 'running' ? 'running' : 'asked';
  else if (action === 'close') session.closing = true;
  const cancels = action === 'cancel_turn' || (action === 'close' && cancel === true);
  if (cancels && session.running !== undefined) session.running.cancelling = true;
}

/** Takes the next message for a turn. Undefined: no turn starts now. */
export function beginTurn(session: SessionMachine, turnId: (n: number) => string): RunningTurn | undefined {
  const { running, paused, closing, waiting } = session;
  if (running !== undefined || paused || closing) return undefined;
  const message = waiting.shift();
  if (message === undefined) return undefined;
  session.turns += 1;
  session.running = { turn: turnId(session.turns), message, steering: [], cancelling: false };
  return session.running;
}

/** Who asks for a turn: the sender of its words, whoever began the session, and everybody whose words it has read. */
export function originOfTurn(origin: TurnOrigin = {}, sender = origin.requester): TurnOrigin {
  const began = origin.requester === undefined ? [] : [origin.requester];
  return withRequesters({ ...origin, ...defined({ requester: sender }) }, began);
}

/**
 * Ends the running turn and remembers what it did. Messages that it did not take up are queued, after the messages that
 * interrupted it.
 */
export function endTurn(
  session: SessionMachine,
  {
    entries,
    took,
    requesters = [],
    tokens,
    compactOver = session.compactOver,
    shortened,
    spending,
    states,
  }: TurnRecord,
  status: TurnMemory['status'],
): void {
  const { running } = session;
  if (running === undefined) return;
  queueLate(session, running, took);
  const { turn, message } = running;
  session.running = undefined;
  const { messageId } = message;
  session.memory.add({ entries, took, turn, status, messageId }, { counted: tokens, shortened });
  if (spending !== undefined)
    session.spending = { ...spending, spent: addSpent(session.spending.spent, spending.spent) };
  if (states !== undefined) session.states = statesIn(states, session.resetRun);
  session.compactOver = compactOver;
  // Later turns read the words of this one, also if it left no record of its own.
  const asked = message.sender ?? session.origin?.requester ?? SOMEBODY;
  session.origin = withRequesters(session.origin, [asked, ...requesters]);
  session.compaction ??= 'due';
}

/**
 * The turns that a summary is to replace now, and whether somebody asked for the summary. Undefined: no summary is due.
 */
export function beginCompaction(session: SessionMachine): { part: OldestPart; isAsked: boolean } | undefined {
  const { memory, compactOver, compaction } = session;
  const isAsked = compaction === 'asked';
  const due = compactOver === undefined ? undefined : memory.oldest(compactOver);
  if (!isAsked && due !== undefined && session.turns < session.restsUntil) return withoutSummary(session);
  const part = isAsked ? memory.allButLast : due;
  const isNow = compaction !== undefined && part !== undefined;
  session.compaction = isNow ? 'running' : undefined;
  return isNow ? { part, isAsked } : undefined;
}

/** Turns without a further attempt, after no model could write a summary. */
const REST_TURNS = 10;

/** No model could write the summary that was due: the oldest outputs are dropped, and the next turns ask for none. */
export function noteNoSummary(session: SessionMachine): void {
  session.restsUntil = session.turns + REST_TURNS;
  withoutSummary(session);
}

function withoutSummary(session: SessionMachine): undefined {
  const { memory, compactOver } = session;
  session.compaction = undefined;
  if (compactOver !== undefined) memory.dropOutputs(compactOver);
}
