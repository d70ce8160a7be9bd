import type { DecisionMade, Judgement, Resolved, Said } from '../../events';
import { argsDigestOf, draft, type Draft, type Of, type Shown } from './draft';

type DecisionEvent = Of<'request_opened' | 'decision' | 'request_expired' | 'resolved' | 'abandoned'>;

/** What people were asked and what they said, with what they had been shown. */
export function recordsOfDecision(event: DecisionEvent, shown: ReadonlyMap<string, Shown>): Draft[] {
  switch (event.type) {
    case 'request_opened':
      return [request(event, shown)];
    case 'decision':
      return [decision(event, shown)];
    case 'resolved':
      return [resolution(event)];
    case 'request_expired':
      return [draft('expiry', { call: event.callId, ...shown.get(event.callId) })];
    case 'abandoned': {
      const { approver, identity, reason } = event;
      return [draft('abandoned', { proof: 'claimed' }, { approver, identity, reason })];
    }
  }
}

function request(event: Of<'request_opened'>, shown: ReadonlyMap<string, Shown>): Draft {
  const { callId: call, callKey, tool, safety, effect, deadline, policyReason } = event;
  const facts = { call, callKey, tool, safety, effect, ...shown.get(call), deadline: deadline ?? 'never' };
  return draft('request', facts, { arguments: JSON.stringify(event.arguments), reason: policyReason });
}

function decision(event: DecisionMade, shown: ReadonlyMap<string, Shown>): Draft {
  const { callId: call, decision: said, hunks, asksAgain, arguments: edited, argsDigest } = event;
  const facts = {
    call,
    decision: said,
    ...saidFacts(event),
    ...shown.get(call),
    seenDigest: argsDigest,
    newArgsDigest: edited && argsDigestOf(edited),
    hunks: hunks?.join(),
    asksAgain,
  };
  const args = edited && JSON.stringify(edited);
  return draft(typeOf('decision', event.judgement), facts, { ...saidSealed(event), arguments: args });
}

function resolution(event: Resolved): Draft {
  const { callId: call, resolution: said, content } = event;
  const facts = { call, resolution: said, ...saidFacts(event) };
  return draft(typeOf('resolution', event.judgement), facts, { ...saidSealed(event), content });
}

function typeOf(type: string, { accepted }: Judgement): string {
  return accepted === false ? 'refusal' : type;
}

/** `verdict` is `unknown` where more signals came at once than the turn keeps verdicts of. */
function saidFacts(event: DecisionMade | Resolved) {
  const { judgement, door, decisionId } = event;
  const verdict = judgement.accepted === false ? judgement.code : judgement.accepted ? 'accepted' : 'unknown';
  return {
    of: event.type === 'decision' ? 'decision' : 'resolution',
    verdict,
    door,
    proof: proofOf(event),
    decisionId,
  };
}

/** `authenticated` is the word of the channel: whoever may signal can say it too. */
function proofOf({ authenticated }: Pick<Said, 'authenticated'>): string {
  return authenticated === true ? 'authenticated' : 'claimed';
}

function saidSealed(event: DecisionMade | Resolved) {
  const { approver, identity, channel, reason, judgement } = event;
  const message = judgement.accepted === false ? judgement.message : undefined;
  return { approver, identity, channel, reason, message };
}
