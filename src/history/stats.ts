import type { TurnEvent } from './events';
import { spreadOf, type Spread } from './stats/spread';
import { createCounter, type ToolCounter, type ToolStats } from './stats/tool';
import { viewOf, type CallView, type TurnView } from './view';

export type { Spread } from './stats/spread';
export type { DecisionStats, DoubtStats, ToolStats } from './stats/tool';

/** What turns came to, and what their tools did. */
export interface Stats {
  turns: TurnStats;
  model: ModelStats;
  /** Of all tools together. */
  all: ToolStats;
  /** Most used first. */
  tools: ({ tool: string } & ToolStats)[];
}

/** Turns by how they ended. */
export interface TurnStats {
  count: number;
  /** By end, such as `answered`; those still open by state. */
  ends: Partial<Record<TurnView['status'], number>>;
  /** Milliseconds from start to end, of those that ended. */
  time: Spread;
}

/** What was asked of models. */
export interface ModelStats {
  replies: number;
  /** Replies that took more than one attempt. */
  retried: number;
  /** Models that failed for good. */
  failed: number;
  inputTokens: number;
  outputTokens: number;
  /** Milliseconds that replies took. */
  time: Spread;
}

/** Counts turns, one after the other. Remembers numbers only, never what was said. */
export interface StatsFold {
  /** Takes all events of one more turn. */
  add(events: readonly TurnEvent[]): void;
  stats(): Stats;
}

/** Starts with no turns. `tool`: counts only the calls of this one. */
export function createStats({ tool }: { tool?: string } = {}): StatsFold {
  const turns = createTurns();
  const model = createModel();
  const all = createCounter();
  const tools = new Map<string, ToolCounter>();
  return {
    add: (events) => {
      const view = viewOf(events);
      turns.add(view);
      model.add(view, events);
      for (const call of view.calls) {
        if ((tool !== undefined && call.tool !== tool) || isWhatIf(call)) continue;
        const counter = tools.get(call.tool) ?? createCounter();
        tools.set(call.tool, counter);
        counter.add(call);
        all.add(call);
      }
    },
    stats: () => ({ turns: turns.stats(), model: model.stats(), all: all.stats(), tools: byUse(tools) }),
  };
}

/** The stats of some turns. */
export function statsOf(turns: Iterable<readonly TurnEvent[]>, options: { tool?: string } = {}): Stats {
  const fold = createStats(options);
  for (const events of turns) fold.add(events);
  return fold.stats();
}

/** A call that a fork took over or recorded instead of running it says nothing about its tool. */
function isWhatIf({ given, result }: CallView): boolean {
  return given === true || result?.metadata.dry !== undefined;
}

function byUse(tools: ReadonlyMap<string, ToolCounter>): Stats['tools'] {
  return [...tools]
    .map(([tool, counter]) => ({ tool, ...counter.stats() }))
    .sort((a, b) => b.calls - a.calls || (a.tool < b.tool ? -1 : 1));
}

function createTurns() {
  const ends: TurnStats['ends'] = {};
  const times: number[] = [];
  let count = 0;
  return {
    add: ({ status, startedAt, endedAt }: TurnView): void => {
      count += 1;
      ends[status] = (ends[status] ?? 0) + 1;
      if (endedAt !== null) times.push(Date.parse(endedAt) - Date.parse(startedAt));
    },
    stats: (): TurnStats => ({ count, ends: { ...ends }, time: spreadOf(times) }),
  };
}

function createModel() {
  const counts = { replies: 0, retried: 0, failed: 0, inputTokens: 0, outputTokens: 0 };
  const times: number[] = [];
  return {
    add: ({ steps }: TurnView, events: readonly TurnEvent[]): void => {
      counts.replies += steps.filter(({ given }) => given !== true).length;
      for (const { usage } of steps) {
        counts.inputTokens += usage?.inputTokens ?? 0;
        counts.outputTokens += usage?.outputTokens ?? 0;
      }
      counts.retried += events.filter(({ type }) => type === 'think_retried').length;
      counts.failed += events.filter(({ type }) => type === 'think_failed').length;
      times.push(...replyTimes(events));
    },
    stats: (): ModelStats => ({ ...counts, time: spreadOf(times) }),
  };
}

/** A model is asked for one step at a time. */
function replyTimes(events: readonly TurnEvent[]): number[] {
  let asked: number | undefined;
  return events.flatMap((event) => {
    if (event.type === 'thinking') asked = Date.parse(event.at);
    return event.type === 'step' && asked !== undefined ? [Date.parse(event.at) - asked] : [];
  });
}
