import { isDenial, type ResolutionKind } from '../contract/decision';
import type { ToolErrorCode } from '../contract/result';
import { addUsage, type Usage } from '../contract/spending/usage';
import { takesEffect } from './decisions';
import type { TurnEvent } from './events';
import { type CallView, type TurnView, viewOf } from './view';

/** How turns ended, and what their models and tools did. */
export interface Stats {
  turns: TurnStats;
  model: ModelStats;
  /** The numbers of all tools together. */
  all: ToolStats;
  /** The numbers of each tool. The most used tool comes first. */
  tools: ({ tool: string } & ToolStats)[];
}

/** Turns by how they ended. */
export interface TurnStats {
  count: number;
  /** The count for each end, such as `answered`. Turns that are still open are counted by their state. */
  ends: Partial<Record<TurnView['status'], number>>;
  /** The time from start to end of the turns that ended, in milliseconds. */
  time: Spread;
}

/** The requests to models and their replies. */
export interface ModelStats {
  replies: number;
  /** The number of replies that took more than one attempt. */
  retried: number;
  /** The number of times that a model failed and was not asked again. */
  failed: number;
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that providers had in their caches. Undefined if no provider counted such tokens. */
  cachedInputTokens?: number;
  /** The part of the output that models used for thinking. Undefined if no provider counted such tokens. */
  reasoningTokens?: number;
  /** The cost by the user's own prices. Undefined if no reply has a cost. */
  cost?: number;
  /** The currency of `cost`, or `several` where replies had different currencies and there is no sum. */
  currency?: string;
  /** The time that replies took, in milliseconds. */
  time: Spread;
}

/** Makes a fold without turns. `tool`: counts only the calls of this tool. */
export function createStats({ tool }: { tool?: string } = {}) {
  const turns = createTurns();
  const model = createModel();
  const all = createCounter();
  const tools = new Map<string, ToolCounter>();
  return {
    /** Takes all events of one more turn. */
    add: (events: readonly TurnEvent[]) => {
      const view = viewOf(events);
      turns.add(view);
      model.add(view, events);
      const asked = firstAsked(events);
      for (const call of view.calls) {
        if ((tool !== undefined && call.tool !== tool) || isWhatIf(call)) continue;
        const counter = tools.get(call.tool) ?? createCounter();
        tools.set(call.tool, counter);
        counter.add(call, asked.get(call.callId));
        all.add(call, asked.get(call.callId));
      }
    },
    stats: () => ({
      turns: turns.stats(),
      model: model.stats(),
      all: all.stats(),
      tools: [...tools]
        .map(([tool, counter]) => ({ tool, ...counter.stats() }))
        .sort((a, b) => b.calls - a.calls || (a.tool < b.tool ? -1 : 1)),
    }),
  };
}

/** When each call was first asked about. A change of its arguments makes a new request, but the wait began before. */
function firstAsked(events: readonly TurnEvent[]) {
  const asked = new Map<string, string>();
  for (const event of events)
    if (event.type === 'request_opened' && !asked.has(event.callId)) asked.set(event.callId, event.at);
  return asked;
}

/** Whether a fork took the call over, or recorded it instead of running it. Such a call says nothing about its tool. */
function isWhatIf({ given, result }: CallView) {
  return given === true || result?.metadata.dry !== undefined;
}

function createTurns() {
  const ends: TurnStats['ends'] = {};
  const times: number[] = [];
  let count = 0;
  return {
    add: ({ status, startedAt, endedAt }: TurnView) => {
      count += 1;
      ends[status] = (ends[status] ?? 0) + 1;
      if (endedAt !== null) times.push(Date.parse(endedAt) - Date.parse(startedAt));
    },
    stats: (): TurnStats => ({ count, ends: { ...ends }, time: spreadOf(times) }),
  };
}

function createModel() {
  const counts = { replies: 0, retried: 0, failed: 0 };
  let sum: Usage = {};
  const times: number[] = [];
  return {
    add: ({ steps }: TurnView, events: readonly TurnEvent[]) => {
      counts.replies += steps.filter(({ given }) => given !== true).length;
      sum = steps.reduce((all, { usage }) => addUsage(all, usage), sum);
      counts.retried += events.filter(({ type }) => type === 'think_retried').length;
      counts.failed += events.filter(({ type }) => type === 'think_failed').length;
      times.push(...replyTimes(events));
    },
    stats: (): ModelStats => {
      const { inputTokens = 0, outputTokens = 0, cachedInputTokens, reasoningTokens, cost, currency } = sum;
      const some = { cachedInputTokens, reasoningTokens, cost, currency };
      return { ...counts, inputTokens, outputTokens, ...some, time: spreadOf(times) };
    },
  };
}

/** The time that each reply took, in milliseconds. A model is asked for one step at a time. */
function replyTimes(events: readonly TurnEvent[]) {
  let asked: number | undefined;
  return events.flatMap((event) => {
    if (event.type === 'thinking') asked = Date.parse(event.at);
    return event.type === 'step' && asked !== undefined ? [Date.parse(event.at) - asked] : [];
  });
}

/** How the calls of one tool, or of all tools, ended. */
export interface ToolStats {
  /** The number of calls that the model asked for. */
  calls: number;
  succeeded: number;
  failed: number;
  /** The number of calls that did not run to an end: still open, left when the turn ended, denied or expired. */
  unfinished: number;
  /** The share of successes among the calls that ended, from 0 to 1. Null if none did. */
  successRate: number | null;
  /** The number of failed calls by code. With `validation`, `tool_not_found` and `refused` nothing ran. */
  errors: Partial<Record<ToolErrorCode, number>>;
  /** The number of calls that took more than one attempt. */
  retried: number;
  /** The time that calls ran, in milliseconds. */
  time: Spread;
  /** The bytes that calls returned, of the calls that ran. */
  size: Spread;
  decisions: DecisionStats;
  inDoubt: DoubtStats;
}

/** How people decided requests. */
interface DecisionStats {
  /** The number of calls that waited for a decision. */
  requests: number;
  approved: number;
  /** The number of calls that were approved with other arguments. */
  edited: number;
  denied: number;
  expired: number;
  /** The number of refused decisions that are on record. */
  refused: number;
  /** The time from a request to its decision, in milliseconds. */
  wait: Spread;
}

/** How calls in doubt ended. */
interface DoubtStats {
  calls: number;
  resolved: Record<ResolutionKind, number>;
}

/** Counts calls. */
interface ToolCounter {
  /** `askedAt`: when a person was first asked about it. */
  add(call: CallView, askedAt?: string): void;
  stats(): ToolStats;
}

/** Makes a counter without calls. */
function createCounter(): ToolCounter {
  const counts = { calls: 0, succeeded: 0, failed: 0, unfinished: 0, retried: 0 };
  const errors: ToolStats['errors'] = {};
  const times: number[] = [];
  const sizes: number[] = [];
  const decisions = createDecisions();
  const inDoubt = createDoubts();
  const addResult = ({ result, durationMs, attempts = 0 }: CallView): void => {
    const code = result?.error?.code;
    // What people kept from running says nothing about its tool.
    if (result === undefined || code === 'denied' || code === 'expired') return void (counts.unfinished += 1);
    counts[result.success ? 'succeeded' : 'failed'] += 1;
    if (result.error !== undefined) errors[result.error.code] = (errors[result.error.code] ?? 0) + 1;
    if (attempts > 1) counts.retried += 1;
    if (durationMs === undefined) return;
    times.push(result.metadata.execution_time_ms || durationMs);
    sizes.push(Buffer.byteLength(result.content));
  };
  return {
    add: (call, askedAt) => {
      counts.calls += 1;
      addResult(call);
      decisions.add(call, askedAt);
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

function rateOf({ succeeded, failed }: { succeeded: number; failed: number }) {
  const ended = succeeded + failed;
  return ended === 0 ? null : succeeded / ended;
}

function createDecisions() {
  const counts = { requests: 0, approved: 0, edited: 0, denied: 0, expired: 0, refused: 0 };
  const waits: number[] = [];
  return {
    add: ({ request, decisions, settledBy, outcome }: CallView, askedAt = request?.at ?? '') => {
      if (request === undefined) return;
      counts.requests += 1;
      counts.refused += decisions.filter(({ judgement }) => judgement.accepted === false).length;
      if (settledBy === undefined) {
        if (outcome === 'expired') counts.expired += 1;
        return;
      }
      const isEdited = settledBy.decision === 'modified' || request.edit !== undefined;
      counts[isDenial(settledBy) ? 'denied' : isEdited ? 'edited' : 'approved'] += 1;
      waits.push(Math.max(0, Date.parse(settledBy.at) - Date.parse(askedAt)));
    },
    stats: (): DecisionStats => ({ ...counts, wait: spreadOf(waits) }),
  };
}

function createDoubts() {
  let calls = 0;
  const resolved = { happened: 0, 'did-not': 0, 'run-again': 0 };
  return {
    add: ({ doubt, resolutions }: CallView) => {
      if (doubt === undefined) return;
      calls += 1;
      for (const one of resolutions) {
        if (takesEffect(one) && one.resolution !== undefined) resolved[one.resolution] += 1;
      }
    },
    stats: (): DoubtStats => ({ calls, resolved: { ...resolved } }),
  };
}

/** The spread of some numbers. Its values are null where there are no numbers. */
export interface Spread {
  count: number;
  mean: number | null;
  p50: number | null;
  p95: number | null;
  max: number | null;
}

/** The spread of some numbers. A percentile is the smallest of the numbers that this share of them does not exceed. */
export function spreadOf(numbers: readonly number[]): Spread {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  const sum = sorted.reduce((total, one) => total + one, 0);
  const mean = sorted.length === 0 ? null : sum / sorted.length;
  return { count: sorted.length, mean, p50: at(0.5), p95: at(0.95), max: at(1) };
}
