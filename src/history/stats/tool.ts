import type { ResolutionKind } from '../../contract/decision';
import type { ToolErrorCode } from '../../contract/result';
import { isDenial } from '../fold/effects';
import type { CallView } from '../view-types';
import { spreadOf, type Spread } from './spread';

/** What became of the calls of one tool, or of all tools. */
export interface ToolStats {
  /** Calls that the model asked for. */
  calls: number;
  succeeded: number;
  failed: number;
  /** Without a result: still open, or left when the turn ended. */
  unfinished: number;
  /** Of the calls with a result, 0 to 1; null where there are none. */
  successRate: number | null;
  /** Why calls failed, by code; nothing ran with `validation`, `tool_not_found`, `denied`, `expired` and `refused`. */
  errors: Partial<Record<ToolErrorCode, number>>;
  /** Calls that took more than one attempt. */
  retried: number;
  /** Milliseconds that calls ran. */
  time: Spread;
  /** Bytes that calls returned, of those that ran. */
  size: Spread;
  decisions: DecisionStats;
  inDoubt: DoubtStats;
}

/** What people said to requests. */
export interface DecisionStats {
  /** Calls that waited for a decision. */
  requests: number;
  approved: number;
  /** Approved with other arguments. */
  edited: number;
  denied: number;
  expired: number;
  /** Decisions that were refused, as far as the record has them. */
  refused: number;
  /** Milliseconds from a request to its decision. */
  wait: Spread;
}

/** What became of calls in doubt. */
export interface DoubtStats {
  calls: number;
  resolved: Record<ResolutionKind, number>;
}

/** Counts calls. */
export interface ToolCounter {
  add(call: CallView): void;
  stats(): ToolStats;
}

/** Starts with no calls. */
export function createCounter(): ToolCounter {
  const counts = { calls: 0, succeeded: 0, failed: 0, unfinished: 0, retried: 0 };
  const errors: ToolStats['errors'] = {};
  const times: number[] = [];
  const sizes: number[] = [];
  const decisions = createDecisions();
  const inDoubt = createDoubts();
  const addResult = ({ result, durationMs, attempts = 0 }: CallView): void => {
    if (result === undefined) return void (counts.unfinished += 1);
    counts[result.success ? 'succeeded' : 'failed'] += 1;
    if (result.error !== undefined) errors[result.error.code] = (errors[result.error.code] ?? 0) + 1;
    if (attempts > 1) counts.retried += 1;
    if (durationMs === undefined) return;
    times.push(result.metadata.execution_time_ms || durationMs);
    sizes.push(Buffer.byteLength(result.content));
  };
  return {
    add: (call) => {
      counts.calls += 1;
      addResult(call);
      decisions.add(call);
      inDoubt.add(call);
    },
    stats: () => ({
      ...counts,
      successRate: rateOf(counts),
      errors: { ...errors },
      time: spreadOf(times),
      size: spreadOf(sizes),
      decisions: decisions.stats(),
      inDoubt: inDoubt.stats(),
    }),
  };
}

function rateOf({ succeeded, failed }: { succeeded: number; failed: number }): number | null {
  const ended = succeeded + failed;
  return ended === 0 ? null : succeeded / ended;
}

function createDecisions() {
  const counts = { requests: 0, approved: 0, edited: 0, denied: 0, expired: 0, refused: 0 };
  const waits: number[] = [];
  return {
    add: ({ request, decisions, phase, result }: CallView): void => {
      if (request === undefined) return;
      counts.requests += 1;
      counts.refused += decisions.filter(({ judgement }) => judgement.accepted === false).length;
      const last = decisions.findLast(({ judgement }) => judgement.accepted === true);
      if (last === undefined) {
        if (phase === 'expired' || result?.error?.code === 'expired') counts.expired += 1;
        return;
      }
      const isEdited = decisions.some(
        (one) => one.judgement.accepted === true && one.decision === 'modified',
      );
      counts[isDenial(last) ? 'denied' : isEdited ? 'edited' : 'approved'] += 1;
      waits.push(Math.max(0, Date.parse(last.at) - Date.parse(request.at)));
    },
    stats: (): DecisionStats => ({ ...counts, wait: spreadOf(waits) }),
  };
}

function createDoubts() {
  let calls = 0;
  const resolved = { happened: 0, 'did-not': 0, 'run-again': 0 };
  return {
    add: ({ doubt, resolutions }: CallView): void => {
      if (doubt === undefined) return;
      calls += 1;
      for (const { resolution, judgement } of resolutions) {
        if (judgement.accepted === true && resolution !== undefined) resolved[resolution] += 1;
      }
    },
    stats: (): DoubtStats => ({ calls, resolved: { ...resolved } }),
  };
}
