import type {
  Answered,
  DecisionMade,
  Judgement,
  ProposedCall,
  RequestOpened,
  Resolved,
  TurnEvent,
  TurnEventOf,
} from '../history/events';
import { argsDigestOf, type AuditRecord, type AuditFacts, SEALED_FIELDS, type SealedField } from './format';
import type { Roster } from '../contract/roster';
import { sha256 } from '../system/sha256';
import type { CallRuling, GrantMark, GrantUse } from '../contract/policy-rule';
import type { ToolResult } from '../contract/result';
import type { FileRef } from '../contract/session/files';
import { effectOfDecision } from '../history/decisions';

/** A record before its time and place are known. */
type Draft = Pick<AuditRecord, 'type' | 'facts' | 'sealed'>;

/** The digests of the request that an approver was shown. */
interface Shown {
  /** Absent if the arguments are not sound JSON. */
  argsDigest?: string;
  previewDigest?: string;
  seenDigest: string;
}

/** The digests of what a request shows to an approver. */
function shownBy({ arguments: args, preview, seenDigest }: RequestOpened): Shown {
  const argsDigest = argsDigestOf(args);
  return { argsDigest, previewDigest: preview && sha256(preview.text), seenDigest };
}

/** Makes a draft without absent values. Long facts are cut, because the sender of a signal chooses some of them. */
function draft(
  type: string,
  facts: { [K in string]: AuditFacts[string] | undefined },
  sealed: { [K in SealedField]?: string | undefined } = {},
): Draft {
  const kept: Draft = { type, facts: {}, sealed: {} };
  for (const name in facts) {
    const value = facts[name];
    if (value !== undefined)
      kept.facts[name] = typeof value === 'string' ? value.slice(0, FACT_CHARS) : value;
  }
  for (const name of SEALED_FIELDS) {
    const value = sealed[name];
    if (value !== undefined) kept.sealed[name] = value;
  }
  return kept;
}

const FACT_CHARS = 256;

/** What is known about a run before its next event. */
interface Known {
  /** The digests of each call's request. */
  shown: Map<string, Shown>;
  signed: SignedContext;
}

/**
 * Makes a recorder for a turn. A run that a reset made begins with copies of the events of the previous run. The
 * records of these copies name the previous run, like that run's own records.
 */
export function createRecorder(turn: string) {
  const known: Known = { shown: new Map(), signed: createSignedContext() };
  const place = { run: '', event: 0, part: 0 };
  return {
    /** Makes the records of the next event. Most events make none. */
    push: (event: TurnEvent) => {
      if (event.type === 'turn_started') place.run = event.runId;
      if (event.type === 'reset') place.run = event.newRunId;
      if (event.type === 'request_opened') known.shown.set(event.callId, shownBy(event));
      known.signed.note(event);
      return draftsOf(event, known).map((draft) => {
        place.part = place.event === event.eventId ? place.part + 1 : 0;
        place.event = event.eventId;
        return { at: event.at, turn, ...draft, ...place };
      });
    },
  };
}

type EventsByType = { [T in TurnEvent['type']]: TurnEventOf<T> & { type: T } };

/** Makes the drafts of an event of one type. */
type Drafter<T extends TurnEvent['type']> = (event: EventsByType[T], known: Known) => Draft | Draft[];

/** The drafters by type of event. Events of all other types make no records. */
const DRAFTERS: { [T in TurnEvent['type']]?: Drafter<T> } = {
  step: ({ calls }) => calls.map(proposal),
  turn_started: ({ agent, taskQueue, continuedFrom, session, prompt, files }) =>
    draft('turn_started', { agent, taskQueue, continuedFrom, session }, { prompt, files: filesText(files) }),
  thinking: ({ step, words = [], files = [] }) =>
    words.map((content, at) => draft('words', { step }, { content, files: filesText(files[at]) })),
  forked: ({ of, from, world, changed }) => draft('forked', { of, from, world, changed }),
  cancel_requested: ({ identity, reason }) => draft('cancel', {}, { identity, reason }),
  abandoned: ({ approver, identity, reason }) =>
    draft('abandoned', { proof: 'claimed' }, { approver, identity, reason }),
  continued_as_new: ({ newRunId }) => draft('continued', { newRun: newRunId }),
  reset: ({ baseRunId, newRunId, reason }) =>
    draft('reset', { baseRun: baseRunId, newRun: newRunId }, { reason }),
  turn_ended: ({ status, answer, error }) => {
    const answerDigest = answer === undefined ? undefined : sha256(answer);
    return draft('turn_ended', { status, answerDigest }, { message: error?.message });
  },
  call_prepared: ({ call }) => proposal(call),
  call_started: start,
  call_ended: ({ callId: call, tool, origin, attempts, durationMs, result, grant, roster }) => {
    const took = { origin, attempts, ms: durationMs ?? undefined };
    const facts = { call, tool, ...resultFacts(result), ...took, ...grantFacts(grant) };
    return [draft('outcome', facts, { message: result.error?.message }), ...rosterRecords(call, roster)];
  },
  call_lost: ({ callId: call, tool, message, grant, roster }) => [
    draft('lost', { call, tool, ...grantFacts(grant) }, { message }),
    ...rosterRecords(call, roster),
  ],
  verified: ({ callId: call, outcome, message }) => draft('verified', { call, outcome }, { message }),
  in_doubt: ({ callId: call, callKey, tool, message }) =>
    draft('in_doubt', { call, callKey, tool }, { message }),
  outcome_reported: ({ callId: call, generation, settles, result }) =>
    draft('late_outcome', { call, tool: result.tool, generation, settles, ...resultFacts(result) }),
  request_opened: request,
  decision,
  decision_void: ({ callId: call, tool, message, struck }) =>
    draft('void', { call, tool, struck: struck?.join() }, { message }),
  request_escalated: ({ callId: call, to }) => draft('escalation', { call, to: to.join() }),
  request_expired: ({ callId: call }, { shown }) => draft('expiry', { call, ...shown.get(call) }),
  resolved: resolution,
  question_opened: ({ callId: call, callKey, tool, question, deadline }) => {
    const formDigest = argsDigestOf(question.form);
    return draft(
      'question',
      { call, callKey, tool, formDigest, deadline: deadline ?? 'never' },
      { message: question.text },
    );
  },
  answered: answer,
};

function draftsOf<T extends TurnEvent['type']>(event: EventsByType[T], known: Known): Draft[] {
  const type: T = event.type;
  return [DRAFTERS[type]?.(event, known) ?? []].flat();
}

function rosterRecords(call: string, roster?: Roster) {
  return rosterParts(roster).map(({ type, facts, sealed }) => draft(type, { call, ...facts }, sealed));
}

/**
 * The draft of a call that a model asked for. The arguments are not known of a call that another worker still has to
 * prepare.
 */
function proposal({ callId: call, id, tool, kind, arguments: args, error, ruling }: ProposedCall): Draft {
  if (kind === 'remote') return draft('proposal', { call, modelId: id, tool, kind });
  const facts = { call, modelId: id, tool, kind, argsDigest: argsDigestOf(args), ...rulingFacts(ruling) };
  return draft('proposal', facts, { arguments: JSON.stringify(args), message: error });
}

function start(event: TurnEventOf<'call_started'>): Draft {
  const { callId: call, tool, generation, effect, taskQueue, decision, grant, arguments: args } = event;
  const argsDigest = argsDigestOf(args);
  const spends = decision?.decision;
  const facts = { call, tool, generation, effect, taskQueue, argsDigest, spends, ...grantFacts(grant) };
  return draft('start', facts, { approver: decision?.approver ?? giversOf(grant) });
}

function request(event: TurnEventOf<'request_opened'>, { shown }: Known): Draft {
  const { callId: call, callKey, tool, safety, effect, deadline, policyReason, note } = event;
  const { rule, ruleDigest, fileDigest } = event.authority ?? {};
  const by = { rule: rule?.name, need: rule?.need, assurance: rule?.assurance, ruleDigest, fileDigest };
  const what = { call, callKey, tool, safety, effect, ...shown.get(call), ...by };
  const facts = { ...what, deadline: deadline ?? 'never' };
  const args = JSON.stringify(event.arguments);
  return draft('request', facts, { arguments: args, reason: policyReason, message: note });
}

function decision(event: DecisionMade, { shown, signed }: Known): Draft {
  const {
    callId: call,
    decision: said,
    hunks,
    asksAgain,
    stillWaits,
    arguments: edited,
    seenDigest,
    unbound,
  } = event;
  const over = signed.of(event);
  const facts = {
    call,
    decision: said,
    ...messageFacts(event),
    ...over.facts,
    ...shown.get(call),
    seenDigest,
    unbound,
    newArgsDigest: edited && argsDigestOf(edited),
    hunks: hunks?.join(),
    asksAgain,
    stillWaits,
  };
  const args = edited && JSON.stringify(edited);
  const { suggestion } = event;
  const sealed = { ...messageSealed(event), suggestion, requesters: over.requesters, arguments: args };
  return draft(typeOf('decision', event.judgement), facts, sealed);
}

function resolution(event: Resolved, { shown, signed }: Known): Draft {
  const { callId: call, resolution: said, content, signature, stillWaits } = event;
  const { facts: over, requesters } = signed.of(event);
  const seen = signature === undefined ? {} : shown.get(call);
  const facts = { call, resolution: said, ...messageFacts(event), ...over, ...seen, stillWaits };
  return draft(typeOf('resolution', event.judgement), facts, {
    ...messageSealed(event),
    requesters,
    content,
  });
}

/** The draft of an answer. People's answers are sealed, like arguments. */
function answer(event: Answered): Draft {
  const { callId: call, answer: said, content } = event;
  const facts = {
    call,
    answer: said,
    ...messageFacts(event),
    contentDigest: content && argsDigestOf(content),
  };
  const sealed = { ...messageSealed(event), content: content && JSON.stringify(content) };
  return draft(typeOf('answer', event.judgement), facts, sealed);
}

function typeOf(type: string, { accepted }: Judgement) {
  return accepted === false ? 'refusal' : type;
}

const OF = { decision: 'decision', resolved: 'resolution', answered: 'answer' } as const;

/**
 * The facts about a person's message. `verdict` is `unknown` if more signals arrived together than the turn keeps
 * verdicts for.
 */
function messageFacts(event: DecisionMade | Resolved | Answered) {
  const { judgement, door, decisionId, reapplied, signature } = event;
  const verdict = judgement.accepted === false ? judgement.code : judgement.accepted ? 'accepted' : 'unknown';
  return {
    of: OF[event.type],
    verdict,
    door,
    // Only the channel says this, and everybody who may signal the turn can claim it, too.
    proof: event.authenticated === true ? 'authenticated' : 'claimed',
    signedBy: signature?.kind,
    signedAt: signature?.at,
    notAfter: signature?.notAfter,
    decisionId,
    reappliedBy: reapplied?.eventId,
  };
}

function messageSealed(event: DecisionMade | Resolved | Answered) {
  const { approver, identity, channel, reason, judgement, signature } = event;
  const message = judgement.accepted === false ? judgement.message : undefined;
  return {
    approver,
    identity,
    channel,
    reason,
    message,
    statement: signature?.statement,
    signature: signature?.armored,
  };
}

/** The facts about the policy rule that fitted. */
function rulingFacts({ rule, then, until }: Partial<CallRuling> = {}) {
  return { policyRule: rule, policyThen: then, policyUntil: until };
}

/** The people who gave and confirmed a grant, as text. Undefined without a grant. */
function giversOf(grant: GrantMark | undefined) {
  return grant && [grant.by, ...(grant.confirmedBy ?? [])].join(', ');
}

/** The facts about a grant. The people who gave it are not among them, because names of people are sealed. */
function grantFacts({ id, times, until, use, assurance }: Partial<GrantUse> = {}) {
  return { grant: id, grantTimes: times, grantUntil: until, grantUse: use, grantAssurance: assurance };
}

/** The facts about a result. They never include its text, which may be long and secret. */
function resultFacts({ success, content, error, metadata }: ToolResult) {
  return {
    success,
    // Set if nothing ran, in a fork in a dry world.
    dry: metadata.dry,
    late: metadata.late,
    code: error?.code,
    resultDigest: sha256(content),
    resultBytes: Buffer.byteLength(content),
  };
}

/** The files of a message as JSON, by name and digest, never with their content. Undefined if there are none. */
function filesText(files: readonly FileRef[] = []) {
  if (files.length === 0) return undefined;
  return JSON.stringify(
    files.map(({ name, size, digest: sha256, mediaType }) => ({ name, size, sha256, mediaType })),
  );
}

/** The roster lines by which the worker accepted signatures. They are sealed: keys with their comments name people. */
function rosterParts(roster: Roster | undefined): Draft[] {
  if (roster === undefined) return [];
  const { lines, installation, fileDigest } = roster;
  return lines.map(({ decisionId, ...line }) => ({
    type: 'roster',
    facts: { decisionId, installation, fileDigest },
    sealed: { roster: JSON.stringify(line) },
  }));
}

/** Knows the facts about a run and its calls that a signature of a person covers. */
interface SignedContext {
  /** Takes note of one more event of the run. */
  note(event: TurnEvent): void;
  /** What a person's signature covers, apart from what the record says anyway. Empty if the person did not sign. */
  of(event: DecisionMade | Resolved): {
    facts: { [name: string]: AuditFacts[string] | undefined };
    requesters?: string;
  };
}

/** The facts of a request that the signatures of its votes cover. */
interface Asked {
  callKey: string;
  tool: string;
  toolDigest: string;
  ruleDigest?: string;
  requesters: readonly string[];
  /** The ids of the hunks that were approved, with commas between them. Absent: the whole call. */
  hunks?: string;
}

/** Makes the context of a run that has no events yet. */
function createSignedContext(): SignedContext {
  let agent: string | undefined;
  const asked = new Map<string, Asked>();
  const generations = new Map<string, number>();
  return {
    note: (event) => {
      if (event.type === 'turn_started') ({ agent } = event);
      if (event.type === 'call_started') generations.set(event.callId, event.generation);
      if (event.type === 'request_opened') {
        const { callId, callKey, tool, toolDigest, authority } = event;
        const { ruleDigest, requesters = [] } = authority ?? {};
        asked.set(callId, { callKey, tool, toolDigest, ruleDigest, requesters });
      }
      const approved = event.type === 'decision' ? asked.get(event.callId) : undefined;
      if (event.type === 'decision' && approved !== undefined && effectOfDecision(event) === 'approves')
        approved.hunks = event.hunks?.join();
      const before = event.type === 'in_doubt' ? asked.get(event.callId) : undefined;
      if (event.type === 'in_doubt' && before !== undefined) before.callKey = event.callKey;
    },
    of: ({ type, callId, signature }) => {
      if (signature === undefined) return { facts: {} };
      const { requesters = [], hunks: approved, ...call } = asked.get(callId) ?? {};
      const last = generations.get(callId) ?? 0;
      const generation = type === 'resolved' ? last + 1 : last;
      const hunks = type === 'resolved' ? approved : undefined;
      return { facts: { agent, ...call, generation, hunks }, requesters: JSON.stringify(requesters) };
    },
  };
}
