import {
  type Accepted,
  type Decision,
  DECISION,
  isApproval,
  QUESTION_ANSWER,
  type Resolution,
  RESOLUTION,
  voteOf,
} from '../../contract/decision';
import { isObject } from '../../contract/json';
import { completeAnswer } from '../../contract/question';
import { partReader } from '../../contract/schema/message';
import { closedByAnswer } from '../../lifecycle/answers';
import { asItRuns, askedAgain, settled } from '../../lifecycle/decisions';
import { allowedAgain, ballotFor, closedByResolution } from '../../lifecycle/resolutions';
import { type CallState, withoutVoter } from '../../lifecycle/state';
import { voteFor, withdrawVote } from '../../lifecycle/votes';
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
import { effectOfDecision, effectOfResolution } from '../decisions';
import { endSettled } from './results';
import { happen, timeOf, withNow } from './lives';
import { eventHeader, type FoldState, type PendingSignal } from './state';
import { SOMEBODY, type Vote } from '../../contract/authority';

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
    decision,
    arguments: args,
    hunks,
    seenDigest,
    suggestion,
    unbound,
    asksAgain,
    stillWaits,
    needs: judged.verdict?.needs,
  };
}

/** The event of a judged resolution. */
export function resolvedEvent(head: EventHeader, judged: JudgedInput): Resolved {
  const said = readResolution(judged.input);
  const { resolution, content } = said;
  return {
    type: 'resolved',
    ...judgedHead(head, judged, said),
    resolution,
    content,
    stillWaits: judged.stillWaits,
    needs: judged.verdict?.needs,
  };
}

/** The event of a judged answer, with the defaults that the workflow fills in. */
export function answeredEvent(state: FoldState, head: EventHeader, judged: JudgedInput): Answered {
  const { judgement } = judged;
  const said = readAnswer(judged.input);
  const { callId = '', answer } = said;
  const question = state.approvals.calls.get(callId)?.call.question;
  const isTaken = judgement.accepted === true && answer === 'answered';
  const content =
    isTaken && question !== undefined ? completeAnswer(question, said.content ?? {}) : said.content;
  return {
    type: 'answered',
    ...judgedHead(head, judged, said),
    answer,
    content,
  };
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
    return [withNow(state, event)];
  }
  if (event.type === 'answered') applyAnswer(state, event);
  else applyResolution(state, event);
  return [withNow(state, event), ...endSettled(state, event, event.callId)];
}

function applyDecision(state: FoldState, event: DecisionMade) {
  const life = state.approvals.calls.get(event.callId);
  const effect = effectOfDecision(event);
  if (effect === undefined || life?.phase !== 'request') return;
  const { callId, decision: kind = 'approved', decisionId = '', approver, at } = event;
  const now = timeOf(event);
  const word = voteOf(event);
  const votes = word && castBallot(state, life, voteFor(life, { ...event, decision: word, decisionId }, now));
  if (kind === 'withdrawn') happen(state, withdrawVote(life, event, now).event);
  if (effect === 'counts') return;
  const decision = asItRuns(state.approvals, { ...event, decision: kind }, life);
  const by = { decision, decisionId, standing: { decision: kind, approver, at } };
  if (effect !== 'asks_again') return happen(state, ...settled(life, by, { now, isOld: false, votes }));
  happen(state, ...askedAgain(life, by));
  const held = state.calls.get(callId);
  if (held !== undefined) held.shown = undefined;
}

/** Counts a vote. Returns the votes on its call with it. Undefined: no rule says who decides. */
function castBallot(
  state: FoldState,
  life: CallState,
  cast: ReturnType<typeof voteFor>,
): readonly Vote[] | undefined {
  if (cast === undefined) return undefined;
  happen(state, cast);
  return [...withoutVoter(life, cast.vote.voter), cast.vote];
}

/** Closes a question. The event of its end comes with the next step. */
function applyAnswer(state: FoldState, event: Answered) {
  const life = state.approvals.calls.get(event.callId);
  if (event.judgement.accepted !== true || life?.phase !== 'question') return;
  const { answer = 'answered' } = event;
  happen(state, closedByAnswer(life, { ...event, answer }, timeOf(event)));
}

function applyResolution(state: FoldState, event: Resolved) {
  const life = state.approvals.calls.get(event.callId);
  const effect = effectOfResolution(event);
  if (effect === undefined || life?.phase !== 'in_doubt') return;
  const { resolution = 'did-not', decisionId = '' } = event;
  const now = timeOf(event);
  const said = { ...event, resolution };
  if (effect === 'ends') return happen(state, closedByResolution(life, said, now));
  const votes = castBallot(state, life, voteFor(life, ballotFor(life, said, decisionId), now));
  if (effect === 'runs_again')
    happen(state, allowedAgain(life, said, { now, isOld: false, decisionId, votes }));
}
