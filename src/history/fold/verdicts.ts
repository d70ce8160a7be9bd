import { isValidCall, type PreparedCall } from '../../contract/call';
import {
  answered,
  declined,
  denied,
  didNot,
  happened,
  notRenewed,
  unpreviewed,
} from '../../contract/call-texts';
import {
  type Accepted,
  type Decision,
  DECISION,
  isApproval,
  QUESTION_ANSWER,
  type Resolution,
  RESOLUTION,
} from '../../contract/decision';
import { defined } from '../../contract/defined';
import { isObject } from '../../contract/json';
import { completeAnswer, type Question } from '../../contract/question';
import { partReader } from '../../contract/schema/message';
import { withDefaults } from '../../contract/schema/schema';
import type {
  Answered,
  Attribution,
  DecisionMade,
  Delivery,
  EventHeader,
  Judgement,
  Reapplied,
  Resolved,
  TurnEvent,
} from '../events';
import { effectOfDecision, effectOfResolution, takesEffect } from '../decisions';
import { endAsked, endResolved } from './results';
import { type CallFold, eventHeader, type FoldState, type PendingSignal } from './state';
import { SOMEBODY } from '../../contract/authority';
import { joinedAuthority, renewedAuthority } from '../../authority/votes/authority-in-force';

/** A decision, a resolution or an answer with its verdict. */
export interface JudgedInput {
  input: unknown;
  identity: string;
  door: Delivery;
  judgement: Judgement;
  /** The verdict that the update returned. Only if the message came by update and was accepted. */
  verdict?: Accepted;
  /** See `Accepted`. The record has this for updates and for signals. */
  asksAgain?: true;
  /** The message counts as a vote, and the call still waits. The record has this for updates and for signals. */
  stillWaits?: true;
  reapplied?: Reapplied;
}

const readDecision = partReader(DECISION);
const readResolution = partReader(RESOLUTION);
const readAnswer = partReader(QUESTION_ANSWER);

/** Whether a signal lets its call run, if it is accepted. */
export function allows({ signal, input }: PendingSignal): boolean {
  if (signal === 'approval') return isApproval(readDecision(input));
  return signal === 'resolution' && readResolution(input).resolution === 'run-again';
}

/** The event of a judged decision. The payload may be anything. Parts that cannot be read are left out. */
export function decisionEvent(head: EventHeader, judged: JudgedInput): DecisionMade {
  const { judgement, asksAgain, stillWaits } = judged;
  const said = readDecision(judged.input);
  const { decision, arguments: args, hunks, seenDigest, suggestion } = said;
  const lets = judgement.accepted !== false && isApproval(said);
  const unbound = lets && seenDigest === undefined ? (true as const) : undefined;
  return {
    type: 'decision',
    ...judgedHead(head, judged, said),
    ...defined({
      decision,
      arguments: args,
      hunks,
      seenDigest,
      suggestion,
      unbound,
      asksAgain,
      stillWaits,
      needs: judged.verdict?.needs,
    }),
  };
}

/** The event of a judged resolution. */
export function resolvedEvent(head: EventHeader, judged: JudgedInput): Resolved {
  const said = readResolution(judged.input);
  const { resolution, content } = said;
  return {
    type: 'resolved',
    ...judgedHead(head, judged, said),
    ...defined({ resolution, content, stillWaits: judged.stillWaits, needs: judged.verdict?.needs }),
  };
}

/** The event of a judged answer, with the defaults that the workflow fills in. */
export function answeredEvent(state: FoldState, head: EventHeader, judged: JudgedInput): Answered {
  const { judgement } = judged;
  const said = readAnswer(judged.input);
  const { callId = '', answer } = said;
  const question = questionOf(state.calls.get(callId));
  const isTaken = judgement.accepted === true && answer === 'answered';
  const content =
    isTaken && question !== undefined ? completeAnswer(question, said.content ?? {}) : said.content;
  return {
    type: 'answered',
    ...judgedHead(head, judged, said),
    ...defined({ answer, content }),
  };
}

/** The question that a call asks a person. Undefined if it asks nothing. */
export function questionOf(held: CallFold | undefined): Question | undefined {
  return held !== undefined && isValidCall(held.call) ? held.call.question : undefined;
}

/** The parts that the event of every judged message has. */
function judgedHead(head: EventHeader, judged: JudgedInput, said: Said) {
  const { callId = '' } = said;
  const { judgement } = judged;
  return { ...eventHeader(head), ...attributionOf(judged, said), callId, judgement };
}

type Said = Partial<Pick<Decision | Resolution, keyof Decision & keyof Resolution>>;

/** The claimed approver, channel and reason, with the same defaults as in the workflow. */
function attributionOf({ identity, door, verdict, reapplied }: JudgedInput, said: Said): Attribution {
  const { signature, approver, channel, authenticated, reason, decisionId } = said;
  return {
    approver: verdict?.approver ?? approver ?? SOMEBODY,
    channel: channel ?? door,
    door,
    identity,
    authenticated,
    signature,
    reason,
    decisionId: verdict?.decisionId ?? decisionId,
    reapplied,
  };
}

/** A text field of a payload that may be anything. */
export function textAt(input: unknown, key: string): string | undefined {
  const value = isObject(input) ? input[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Applies a judged message to its call. */
export function applyJudged(state: FoldState, event: DecisionMade | Resolved | Answered): TurnEvent[] {
  if (event.type === 'decision') {
    applyDecision(state, event);
    return [event];
  }
  if (event.type === 'answered') {
    applyAnswer(state, event);
    return [event, ...endAsked(event, state.calls.get(event.callId))];
  }
  applyResolution(state, event);
  return takesEffect(event) ? [event, ...endResolved(event, state.calls.get(event.callId))] : [event];
}

function applyDecision(state: FoldState, event: DecisionMade): void {
  const held = state.calls.get(event.callId);
  const effect = effectOfDecision(event);
  if (effect === undefined || effect === 'counts' || held?.phase !== 'requested') return;
  if (event.arguments !== undefined) held.effective = withDefaults(held.schema, event.arguments);
  if (effect === 'denies') deny(held, event);
  else if (effect === 'asks_again') askAgain(held, event);
  else {
    held.phase = 'decided';
    held.approved = true;
    delete held.note;
  }
}

function askAgain(held: CallFold, { decision, approver, reason }: DecisionMade): void {
  held.phase = 'replanning';
  held.planned = false;
  if (decision === 'ask-again') return void (held.isRenewed = true);
  if (held.call.kind === 'ask') held.original ??= held.call.proposed ?? held.call.arguments;
  delete held.editBefore;
  if (held.edit !== undefined) held.editBefore = held.edit;
  held.edit = { approver, reason };
}

/**
 * Replaces a call by its new revision, or puts the previous one back if no new revision could be made. In both cases
 * the call becomes a request again.
 */
export function replan(held: CallFold, call: PreparedCall): void {
  if (!isValidCall(held.call)) return void (held.planned = true);
  if (!isValidCall(call)) return restore(held, call);
  const authority = (held.isRenewed === true ? renewedAuthority : joinedAuthority)(held.call, call);
  held.planned = true;
  delete held.isRenewed;
  held.call = { ...call, kind: 'ask', ...defined({ authority }) };
  delete held.isEscalated;
  held.effective = call.arguments;
  delete held.note;
}

/** Puts the request back as it was before, because no new revision could be made. */
export function restore(held: CallFold, why: Parameters<typeof unpreviewed>[0]): void {
  const { isRenewed } = held;
  held.planned = true;
  delete held.isRenewed;
  held.note = isRenewed === true ? notRenewed(why) : unpreviewed(why);
  if (isRenewed === true) return void (held.isKept = true);
  if (isValidCall(held.call)) held.effective = held.call.arguments;
  delete held.edit;
  if (held.editBefore !== undefined) held.edit = held.editBefore;
}

function deny(held: CallFold, event: DecisionMade): void {
  held.phase = 'closed';
  held.closing = denied(event);
}

/** Closes a question. The result, in the words that the model reads, comes with the next step. */
function applyAnswer(state: FoldState, event: Answered): void {
  const held = state.calls.get(event.callId);
  if (event.judgement.accepted !== true || held?.phase !== 'requested' || questionOf(held) === undefined)
    return;
  held.phase = 'closed';
  held.closing =
    event.answer === 'declined' ? declined(event) : { content: answered(event, event.content ?? {}) };
}

function applyResolution(state: FoldState, event: Resolved): void {
  const held = state.calls.get(event.callId);
  if (!takesEffect(event) || held?.phase !== 'lost') return;
  const runsAgain = effectOfResolution(event) === 'runs_again';
  held.phase = runsAgain ? 'decided' : 'closed';
  if (runsAgain) {
    held.approved = true;
    held.runsAgain = true;
    // The note is about the decision of the earlier run. The next run brings its own.
    delete held.remark;
    return;
  }
  held.closing =
    event.resolution === 'happened' ? { content: happened(event, event.content) } : didNot(event);
}
