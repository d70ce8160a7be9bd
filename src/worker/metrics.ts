import type { MetricMeter, MetricTags } from '@temporalio/common';
import type { TelemetryOptions } from '@temporalio/worker';
import type { Journal } from '../activities/journal';
import type { ObservedFact, Observe } from '../activities/observed';
import { CountersignError, errorMessage } from '../contract/errors';
import { RAISE_BUDGET, RAISE_SESSION_BUDGET } from '../contract/names';
import type { Usage } from '../contract/spending/usage';
import { readListenAddress } from '../server/probes';
import type { Config } from '../tools/define-config';

/** The label for a name that is not registered, because a model can make up any number of tool names. */
const UNKNOWN = 'unknown';

/** The upper bounds of histograms. People decide within seconds or within days. */
const BUCKETS: Record<string, number[]> = {
  countersign_decision_wait: [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 259_200, 604_800],
  countersign_model_latency: [0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600],
  countersign_model_cost: [0.001, 0.01, 0.1, 1, 10],
  countersign_journal_write: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
};

/**
 * Makes the metrics of a worker. Our metrics go to the same place as the metrics of Temporal's SDK. If the SDK's
 * metrics are off, ours cost nothing.
 */
export function createMetrics(meter: MetricMeter) {
  const instruments = makeInstruments(meter);
  const journal = (write: 'intent' | 'outcome', ms: number, outcome: 'success' | 'failed') =>
    count(instruments, { kind: 'journal', write, outcome, ms });
  return {
    /** Makes a function that counts facts about the agents and tools of a config. It never throws. */
    observer(config: Pick<Config, 'agents' | 'taskQueue'>): Observe {
      const names = namesOf(config);
      return (fact) => count(instruments, bounded(fact, names));
    },
    /** Wraps a journal so that its writes are counted. */
    watchJournal: (watched: Journal): Journal => ({
      ...watched,
      begin: (key) =>
        timed(
          () => watched.begin(key),
          (...end) => journal('intent', ...end),
        ),
      end: (key, result) =>
        timed(
          () => watched.end(key, result),
          (...end) => journal('outcome', ...end),
        ),
    }),
  };
}

async function timed<T>(
  work: () => Promise<T>,
  ended: (ms: number, outcome: 'success' | 'failed') => void,
): Promise<T> {
  const began = performance.now();
  try {
    const value = await work();
    ended(performance.now() - began, 'success');
    return value;
  } catch (error) {
    ended(performance.now() - began, 'failed');
    throw error;
  }
}

/** The names that labels may have. */
interface Names {
  agents: ReadonlySet<string>;
  tools: ReadonlySet<string>;
}

function namesOf(config: Pick<Config, 'agents' | 'taskQueue'>): Names {
  const tools = config.agents.flatMap(({ registry }) => registry.list().map(({ name }) => name));
  return {
    agents: new Set(config.agents.map(({ name }) => name)),
    tools: new Set([...tools, RAISE_BUDGET, RAISE_SESSION_BUDGET]),
  };
}

/** A fact in which labels have only registered names. */
function bounded(fact: ObservedFact, { agents, tools }: Names): ObservedFact {
  if (fact.kind === 'journal') return fact;
  const agent = agents.has(fact.agent) ? fact.agent : UNKNOWN;
  if (!('tool' in fact)) return { ...fact, agent };
  return { ...fact, agent, tool: tools.has(fact.tool) ? fact.tool : UNKNOWN };
}

type Instruments = ReturnType<typeof makeInstruments>;

function makeInstruments(meter: MetricMeter) {
  const counter = (name: string, description: string) =>
    meter.createCounter(`countersign_${name}`, undefined, description);
  const histogram = (name: string, unit: string, description: string) =>
    meter.createHistogram(`countersign_${name}`, 'float', unit, description);
  return {
    calls: counter('calls', 'Calls that have their result, by how they ended.'),
    decisions: counter('decisions', 'Requests and questions that wait no longer, by how that ended.'),
    wait: histogram('decision_wait', 'seconds', 'How long requests and questions waited for a person.'),
    doubts: counter('calls_in_doubt', 'Unsafe calls whose outcome became unknown.'),
    turns: counter('turns', 'Turns that are over, by how they ended.'),
    latency: histogram(
      'model_latency',
      'seconds',
      'How long models took to answer or to fail, each attempt.',
    ),
    tokens: counter('model_tokens', 'Tokens as the providers count them.'),
    cost: histogram('model_cost', '', 'Cost of each reply, by the prices of the config.'),
    journal: histogram('journal_write', 'seconds', 'Writes of intents and outcomes of unsafe calls.'),
  };
}

function count(to: Instruments, fact: ObservedFact) {
  switch (fact.kind) {
    case 'waited':
      return countWait(to, fact);
    case 'ended':
      return to.calls.add(1, labels(fact, 'agent', 'tool', 'outcome'));
    case 'doubted':
      return to.doubts.add(1, labels(fact, 'agent', 'tool'));
    case 'turn':
      return to.turns.add(1, labels(fact, 'agent', 'outcome'));
    case 'model':
      return to.latency.record(seconds(fact.at - fact.since), labels(fact, 'agent', 'model', 'outcome'));
    case 'usage':
      return countUsage(to, fact.usage, labels(fact, 'agent', 'model'));
    case 'journal':
      return to.journal.record(seconds(fact.ms), labels(fact, 'write', 'outcome'));
  }
}

function countWait({ decisions, wait }: Instruments, fact: Extract<ObservedFact, { kind: 'waited' }>) {
  const of = labels(fact, 'agent', 'tool', 'outcome');
  decisions.add(1, of);
  wait.record(seconds(fact.at - fact.since), of);
}

/** Milliseconds as seconds. Never negative, although a clock may have been set back meanwhile. */
function seconds(ms: number) {
  return Math.max(0, ms) / 1000;
}

function countUsage({ tokens, cost }: Instruments, usage: Usage, of: MetricTags) {
  const kinds = {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached_input: usage.cachedInputTokens,
    cache_write: usage.cacheWriteTokens,
    reasoning: usage.reasoningTokens,
  };
  for (const [type, amount] of Object.entries(kinds))
    if (amount !== undefined && amount > 0) tokens.add(Math.round(amount), { ...of, type });
  if (usage.cost !== undefined) cost.record(usage.cost, { ...of, currency: usage.currency ?? '' });
}

function labels<K extends string>(from: Readonly<Record<K, string>>, ...names: K[]): MetricTags {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

/**
 * Where metrics go, for Temporal's runtime: `host:port` opens a port for Prometheus, with `/metrics`; an address with
 * `http`, `https` or `grpc` names an OpenTelemetry collector.
 *
 * @throws CountersignError `config_invalid`.
 */
export function metricsExporter(place: string): NonNullable<TelemetryOptions['metrics']> {
  const common = { attachServiceName: false };
  const shape = { useSecondsForDurations: true, histogramBucketOverrides: BUCKETS };
  if (/^(https?|grpcs?):\/\//.test(place)) {
    const http = /^https?:\/\/.*\/v1\/metrics$/.test(place);
    return { ...common, otel: { url: place, http, metricsExportInterval: '10s', ...shape } };
  }
  const { host, port } = readListenAddress(place, 'metrics');
  const bindAddress = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { ...common, prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, ...shape } };
}

/** The error for a runtime that cannot serve metrics. */
export function metricsFailed(place: string, cause: unknown): CountersignError {
  const message = `the metrics cannot be served at ${place}: ${errorMessage(cause)}`;
  return new CountersignError('config_invalid', message, {
    hint: 'choose another address with --metrics, or end what listens there',
    cause,
  });
}
