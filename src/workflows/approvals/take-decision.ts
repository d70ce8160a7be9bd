import type { SpentDecision } from '../../contract/call';
import type { Accepted, Decision } from '../../contract/decision';
import { digestJson } from '../../contract/digest';
import type { JudgedDecision } from './judge-decision';
import { closeCall, denialOf } from './close';
import type { Approvals, CallState, Standing } from './state';

type Taken = Extract<JudgedDecision, { kind: 'take' }>;

/** When and under which id a decision is taken; the id is drawn by the workflow where the sender gave none. */
export interface TakenAt {
  now: number;
  decisionId: string;
}

/** Takes a judged decision: the only place where a request becomes ready or denied by a person. */
export function takeDecision(approvals: Approvals, taken: Taken, at: TakenAt): Accepted {
  const { decision, state, contentDigest } = taken;
  const standing = standingOf(decision, at.now);
  const asksAgain = decision.decision === 'modified' && state.plan !== undefined;
  if (isDenial(decision)) deny(approvals, state, { decision, standing });
  else if (asksAgain) replan(state, decision, standing);
  else allow(state, decision, { ...at, standing });
  const verdict: Accepted = {
    accepted: true,
    decisionId: at.decisionId,
    callId: decision.callId,
    decision: decision.decision,
    approver: standing.approver,
    at: standing.at,
    ...(asksAgain ? { asksAgain } : {}),
  };
  approvals.verdicts.set(at.decisionId, { digest: contentDigest, verdict });
  return verdict;
}

function standingOf(decision: Decision, now: number): Standing {
  const word = isDenial(decision) ? 'denied' : decision.decision;
  return { decision: word, approver: decision.approver ?? 'somebody', at: new Date(now).toISOString() };
}

/** Accepting no hunk is a denial. */
function isDenial(decision: Decision): boolean {
  return decision.decision === 'denied' || decision.hunks?.length === 0;
}

function deny(approvals: Approvals, state: CallState, by: { decision: Decision; standing: Standing }): void {
  state.standing = by.standing;
  const result = denialOf(state, {
    approver: by.standing.approver,
    reason: by.decision.reason,
    at: by.standing.at,
  });
  closeCall(approvals, state, { why: 'decided', result });
}

function allow(state: CallState, decision: Decision, at: TakenAt & { standing: Standing }): void {
  if (decision.arguments !== undefined) editArguments(state, decision, at.standing);
  delete state.note;
  state.standing = at.standing;
  state.held = {
    ...spentDecision(state, decision, at),
    argsDigest: state.effectiveDigest,
    generation: state.generation,
    spent: false,
  };
  state.phase = 'ready';
  state.deadline = null;
}

function spentDecision(
  state: CallState,
  decision: Decision,
  at: TakenAt & { standing: Standing },
): SpentDecision {
  const { reason } = decision;
  return {
    decisionId: at.decisionId,
    decision: state.edit === undefined ? 'approved' : 'modified',
    approver: at.standing.approver,
    ...(reason === undefined ? {} : { reason }),
    ...(decision.hunks === undefined ? {} : { hunks: [...decision.hunks] }),
    ...(state.edit === undefined ? {} : { edit: state.edit }),
  };
}

/** Three records stay apart: what the model proposed, what a person approved, what runs. */
function editArguments(state: CallState, decision: Decision, standing: Standing): void {
  state.proposed ??= state.call.proposed ?? state.call.arguments;
  state.effective = decision.arguments ?? state.effective;
  state.effectiveDigest = digestJson(state.effective);
  state.edit = {
    approver: standing.approver,
    ...(decision.reason === undefined ? {} : { reason: decision.reason }),
  };
}

/** The plan was made for other arguments: a new one is made before anybody can approve it. */
function replan(state: CallState, decision: Decision, standing: Standing): void {
  delete state.editBefore;
  if (state.edit !== undefined) state.editBefore = state.edit;
  editArguments(state, decision, standing);
  state.phase = 'replanning';
  state.deadline = null;
}
