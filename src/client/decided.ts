import type { AnswerKind, DecisionKind, ResolutionKind, VoteSignature } from '../contract/decision';
import type { Answered, CallNow, DecisionMade, Resolved } from '../history/events';
import { callTitle } from '../history/labels';
import { type CallView, type TurnView, viewOf } from '../history/view';
import { wordOf } from './ended-turn';
import { AT_ONCE, mapOrdered, readTurns } from './read-turns';
import type { ListQuery, TurnSummary } from './types';

/** A person's decision or answer, and the outcome of the call. */
export interface DecidedCall extends Pick<CallNow, 'phase' | 'outcome'> {
  turn: string;
  agent: string;
  callId: string;
  tool: string;
  /** What the call does, in one line. */
  summary: string;
  /** Its arguments, to search in them. */
  values: string;
  /** `granted`: the call ran by a grant of this person. */
  what: DecisionKind | ResolutionKind | AnswerKind | 'granted';
  approver: string;
  /** The channel says that the approver was signed in there. This is only a claim. */
  authenticated?: true;
  /** The kind of signature that came with the decision. Absent: none. */
  signedBy?: VoteSignature['kind'];
  /** Ids of the approved hunks. Absent: all hunks. */
  hunks?: string[];
  reason?: string;
  /** What the model should do instead of a denied call. */
  suggestion?: string;
  /** The time of the decision, ISO 8601. */
  at: string;
  /** Why the call failed, in words. */
  message?: string;
  /** The time when the call was over, ISO 8601. */
  endedAt?: string;
}

/** The last decision of each person on each call of a turn. Only accepted decisions are listed. */
export function decidedIn(view: TurnView): DecidedCall[] {
  return view.calls.flatMap((call) => {
    const taken = [...call.decisions, ...call.resolutions, ...call.answers].filter(
      ({ judgement }) => judgement.accepted === true,
    );
    const last = new Map(taken.map((event) => [event.approver, event]));
    const decided = [...last.values()].map((event) => decidedCall(view, call, event));
    const { grant, startedAt } = call;
    if (grant === undefined || startedAt === undefined) return decided;
    const granted = [grant.by, ...(grant.confirmedBy ?? [])];
    return [
      ...decided,
      ...granted.map((approver) => ({
        ...headOf(view, call),
        what: 'granted' as const,
        approver,
        at: startedAt,
      })),
    ];
  });
}

function decidedCall(view: TurnView, call: CallView, event: DecisionMade | Resolved | Answered): DecidedCall {
  const { approver, authenticated, signature, reason, at } = event;
  return {
    ...headOf(view, call),
    what: wordOf(event),
    approver,
    at,
    authenticated,
    signedBy: signature?.kind,
    reason,
    ...(event.type === 'decision' ? { hunks: event.hunks, suggestion: event.suggestion } : {}),
  };
}

function headOf({ turn, agent }: TurnView, call: CallView): Omit<DecidedCall, 'what' | 'approver' | 'at'> {
  const { callId, tool, phase, outcome, result } = call;
  const over = { outcome, message: result?.error?.message, endedAt: result?.metadata.timestamp };
  const values = JSON.stringify(call.effective).slice(0, MOST_VALUES);
  return { turn, agent, callId, tool, summary: callTitle(call), values, phase, ...over };
}

/** The most characters of the arguments that a search looks at. */
const MOST_VALUES = 1_000;

/** The person whose decisions are looked for, and the turns to look at. */
interface DecidedQuery extends Pick<ListQuery, 'agent'> {
  /** Absent: everybody. */
  approver?: string;
  tool?: string;
  /** The most turns to look at, newest first. @default 200 */
  turns?: number;
  /** Turns to look at in addition. */
  also?: readonly string[];
}

/** The decisions of a person, newest first. */
export interface DecidedAnswer {
  calls: DecidedCall[];
  /** The number of turns that were looked at. */
  looked: number;
  /** There are more turns than were looked at. */
  isCut: boolean;
}

/** Keeps the decisions in turns that have ended, so that each such turn is read once. */
interface KnownDecisions {
  get(run: string): readonly DecidedCall[] | undefined;
  set(run: string, calls: readonly DecidedCall[]): unknown;
}

const TURNS = 200;

/**
 * A person's decisions in the newest turns. They are read from the histories of the turns, which hold every decision,
 * whether it came by update or by signal. Names are as claimed. Turns that cannot be decrypted here are left out.
 *
 * @throws CountersignError as `Countersign.list` and `timeline`.
 */
export async function readDecided(
  client: Parameters<typeof readTurns>[0] & { list(query: ListQuery): Promise<TurnSummary[]> },
  { approver, tool, turns = TURNS, also = [], ...filter }: DecidedQuery,
  known?: KnownDecisions,
): Promise<DecidedAnswer> {
  const listed = await client.list({ ...filter, limit: turns });
  const ids = new Set(listed.map(({ turn }) => turn));
  const others = also.filter((turn) => !ids.has(turn)).map((turn) => ({ turn, runId: '', endedAt: null }));
  const all = [...listed, ...others];
  const found: DecidedCall[] = [];
  for await (const calls of mapOrdered(all, AT_ONCE, (turn) => decidedOf(client, turn, known)))
    found.push(
      ...calls.filter(
        (one) => (approver ?? one.approver) === one.approver && (tool ?? one.tool) === one.tool,
      ),
    );
  found.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return { calls: found, looked: all.length, isCut: listed.length === turns };
}

async function decidedOf(
  client: Parameters<typeof readTurns>[0],
  turn: Pick<TurnSummary, 'turn' | 'runId' | 'endedAt'>,
  known: KnownDecisions | undefined,
) {
  const run = `${turn.turn}/${turn.runId}`;
  const isOver = turn.endedAt !== null;
  const kept = isOver ? known?.get(run) : undefined;
  if (kept !== undefined) return kept;
  for await (const events of readTurns(client, [turn], () => undefined)) {
    const calls = decidedIn(viewOf(events));
    if (isOver) known?.set(run, calls);
    return calls;
  }
  return [];
}
