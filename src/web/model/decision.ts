import type { DecisionBody } from '../../server/api';
import type { JsonObject } from '../../contract/json';
import type { RequestOpened } from '../../history/events';

/** What a person has chosen on a request so far. */
export interface Choice {
  /** The new arguments, where they are edited. */
  edited?: JsonObject;
  /** Ids of the hunks that are ticked. */
  hunks: readonly string[];
  reason: string;
}

/** Ids of all hunks of a request, in order. */
export function hunkIds(request: RequestOpened): string[] {
  return (request.preview?.plan?.hunks ?? []).map(({ id }) => id);
}

/** The decision to send; it names what the page showed, so that a stale page decides nothing. */
export function toDecision(
  request: RequestOpened,
  kind: 'approve' | 'deny',
  { edited, hunks, reason }: Choice,
): Omit<DecisionBody, 'decisionId'> {
  const { callId, callKey, argsDigest } = request;
  const shown = { callId, callKey, argsDigest, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) };
  if (kind === 'deny') return { ...shown, decision: 'denied' };
  if (edited !== undefined) return { ...shown, decision: 'modified', arguments: edited };
  const all = hunkIds(request);
  const some = all.filter((id) => hunks.includes(id));
  return { ...shown, decision: 'approved', ...(some.length === all.length ? {} : { hunks: some }) };
}

/** What stands between a person and an approval. */
export interface Review {
  /** It has just come in the place of another one, for which a click may have been meant. */
  fresh: boolean;
  /** Blocks that were not in sight yet. */
  unseen: number;
  /** Characters that would not show, and whether the person said that they looked at them. */
  hidden: number;
  confirmed: boolean;
  /** Mistakes in the edited arguments. */
  issues: number;
  hunksLeft: boolean;
  expired: boolean;
}

/** Why approving has to wait, in words; undefined when nothing stands in its way. */
export function whyNot(review: Review): string | undefined {
  const { fresh, unseen, hidden, confirmed, issues, hunksLeft, expired } = review;
  if (expired) return 'Its deadline has passed.';
  if (issues > 0)
    return issues === 1 ? 'One field has to be mended first.' : `${issues} fields have to be mended first.`;
  if (!hunksLeft) return 'No hunk is ticked: deny it instead.';
  if (unseen > 0)
    return unseen === 1
      ? 'One part has not been in sight yet.'
      : `${unseen} parts have not been in sight yet.`;
  if (hidden > 0 && !confirmed) return 'Say first that you looked at the marked characters.';
  return fresh ? 'It has just opened: a moment.' : undefined;
}
