import type { OutcomeReport, PreparedCall, ValidCall } from '../contract/call';
import { type ClosingCause, DECIDED_BEFORE } from '../contract/call-texts';
import type { Abandonment } from '../contract/decision';
import type { ToolResult } from '../contract/result';
import type { MovedCall } from '../contract/think';
import type { JsonSchema } from '../contract/tool';
import { decideAnswer } from './answers';
import { decideDecision } from './decisions';
import { prove, takeAbandonment, takeOutcome } from './doubts';
import { cancelAll, whatIsDue, withdraw } from './endings';
import type { LifeEvent } from './events';
import { type Decided, refuse, type Said } from './messages';
import { takeUpWaits } from './move';
import { isVoidAfterReset, takeReset } from './reset';
import { decideResolution } from './resolutions';
import { decideStart, settle, type Settlement } from './starts';
import type { Approvals, Question } from './state';

/** What somebody says, or what the workflow has to do about its calls. */
export type Command =
  /** A person decides on a request, resolves a call in doubt, or answers a question. */
  | ({ type: 'decision' | 'resolution' | 'answer' } & Said)
  | { type: 'begin' }
  | { type: 'know'; schemas: Readonly<Record<string, JsonSchema>> }
  | { type: 'register'; call: ValidCall; callKey: string; asking?: Question['asking'] }
  | { type: 'take_up'; waits: readonly MovedCall[] }
  /** A call that had to be prepared anew was prepared, or could not be. */
  | { type: 'prepare'; callId: string; prepared: PreparedCall }
  | { type: 'start'; callId: string; secret?: string }
  | { type: 'give_back'; callId: string; isHeld: boolean; mayHaveRun?: true | undefined }
  | { type: 'settle'; callId: string; settlement: Settlement }
  | { type: 'prove'; callId: string; result: ToolResult }
  | { type: 'outcome'; outcome: OutcomeReport }
  /** The workflow closes a call by itself. */
  | { type: 'close'; callId: string; result: ToolResult; cause?: ClosingCause }
  | { type: 'withdraw'; callId: string }
  | { type: 'leave'; callId: string }
  /** Time has passed, or something may be due for another reason. */
  | { type: 'look' }
  | { type: 'cancel' }
  | { type: 'cancel_scope'; callId: string }
  | { type: 'abandon'; by: Abandonment }
  | { type: 'reset' }
  | { type: 'hear'; names: readonly string[] };

/** What a command leads to at workflow time `now` (ms). Changes nothing: `apply` makes the next state of the events. */
export function decide(calls: Approvals, command: Command, now: number): Decided {
  switch (command.type) {
    case 'decision':
      return unlessVoid(calls, command, decideDecision(calls, command, now));
    case 'resolution':
      return unlessVoid(calls, command, decideResolution(calls, command, now));
    case 'answer':
      return unlessVoid(calls, command, decideAnswer(calls, command, now));
    case 'start':
      return decideStart(calls, command.callId, command.secret);
    default:
      return { events: eventsOf(calls, command, now) };
  }
}

/** What a command leads to that nobody can refuse. */
function eventsOf(
  calls: Approvals,
  command: Exclude<Command, { type: 'decision' | 'resolution' | 'answer' | 'start' }>,
  now: number,
): readonly LifeEvent[] {
  const state = 'callId' in command ? calls.calls.get(command.callId) : undefined;
  switch (command.type) {
    case 'begin':
      return [{ type: 'began' }];
    case 'know':
      return [{ ...command, type: 'knew' }];
    case 'register':
      return [{ ...command, type: 'registered', at: now }];
    case 'take_up':
      return takeUpWaits(command.waits);
    case 'prepare':
      return state?.phase === 'preparing' ? [{ ...command, type: 'prepared', at: now }] : [];
    case 'give_back':
      return state?.phase === 'running' ? [{ ...command, type: 'given_back' }] : [];
    case 'settle':
      return settle(calls, command.callId, command.settlement, now);
    case 'prove':
      return prove(state, command.result, now);
    case 'outcome':
      return takeOutcome(calls, command.outcome, now);
    case 'close':
      return state === undefined || state.phase === 'done' ? [] : [{ ...command, type: 'closed', at: now }];
    case 'withdraw':
      return withdraw(state, now);
    case 'leave':
      return [{ ...command, type: 'left' }];
    case 'look':
      return whatIsDue(calls, now);
    case 'cancel':
      return cancelAll(calls, now);
    case 'cancel_scope':
      return [{ ...command, type: 'scope_cancelled' }];
    case 'abandon':
      return takeAbandonment(calls, command.by, now);
    case 'reset':
      return takeReset(calls, now);
    case 'hear':
      return [{ ...command, type: 'heard' }];
  }
}

/** A message that a reset applies again is refused where its decision would be void. */
function unlessVoid(calls: Approvals, { isAgain, message }: Said, decided: Decided): Decided {
  if (!isAgain || decided.refused !== undefined || decided.events.length === 0) return decided;
  const state = calls.calls.get(decided.verdict?.callId ?? '');
  return state !== undefined && isVoidAfterReset(state)
    ? { refused: refuse('stale_args', `${DECIDED_BEFORE}; look again and decide anew`, message) }
    : decided;
}
