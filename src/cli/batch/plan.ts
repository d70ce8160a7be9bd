import type { InboxItem } from '../../client';
import type { RequestOpened } from '../../history/events';
import type { CallView } from '../../history/view';
import { hiddenIn } from '../print/request';
import type { Condition } from './condition';
import { isTrueOf } from './evaluate';

/** One item of the inbox with its call, as the record has it; without one where it is gone already. */
export interface Candidate {
  item: InboxItem;
  call: CallView | undefined;
}

/** A request that would be decided with the others. */
export interface Planned {
  item: InboxItem;
  call: CallView;
  request: RequestOpened;
}

/** A request that the condition chose, and why it is not decided with the others. */
export interface LeftOut {
  item: InboxItem;
  why: string;
}

/** What a batch would do. What the condition did not choose is in neither list. */
export interface BatchPlan {
  planned: Planned[];
  leftOut: LeftOut[];
}

/** What a batch decides and by which condition; without one everything is chosen. */
export interface BatchWish {
  decision: 'approved' | 'denied';
  where: Condition | undefined;
  /** Milliseconds since 1970. */
  now: number;
}

/** Chooses what is decided together. A denial runs nothing, so nothing is kept from one but what is no request. */
export function planBatch(candidates: readonly Candidate[], wish: BatchWish): BatchPlan {
  const plan: BatchPlan = { planned: [], leftOut: [] };
  for (const { item, call } of candidates) {
    const request = call?.phase === 'requested' ? call.request : undefined;
    if (call === undefined || request === undefined || request.callKey !== item.callKey) continue;
    if (!isChosen({ item, request }, wish)) continue;
    const why = wish.decision === 'approved' ? reasonAgainst(request) : undefined;
    if (why === undefined) plan.planned.push({ item, call, request });
    else plan.leftOut.push({ item, why });
  }
  return plan;
}

function isChosen({ item, request }: Omit<Planned, 'call'>, { where, now }: BatchWish): boolean {
  if (where === undefined) return true;
  const age = now - Date.parse(item.since);
  return isTrueOf(where, {
    args: request.arguments,
    tool: request.tool,
    agent: item.agent,
    turn: item.turn,
    age,
  });
}

/** Why a request has to be looked at on its own; undefined where it need not. */
function reasonAgainst(request: RequestOpened): string | undefined {
  const hunks = request.preview?.plan?.hunks.length ?? 0;
  if (request.noBatch === true) return 'its tool wants each one decided on its own';
  if (hunks > 1) return `it has ${hunks} hunks to choose from`;
  if (hiddenIn(request) > 0) return 'it holds characters that deceive the eye';
  return undefined;
}
