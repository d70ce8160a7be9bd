import type { ObservedFact } from '../../src/activities/observed';
import { noopMetricMeter, type MetricMeter, type MetricTags } from '@temporalio/common';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { defineTool } from '../../src/tools/define-tool';
import { createMetrics, metricsExporter, metricsFailed } from '../../src/worker/metrics';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object', properties: {} },
  handler: () => 'paid',
});
const agent = defineAgent({ name: 'clerk', instructions: 'x', model: scriptedModel([]), tools: [pay] });
const config = defineConfig({ agents: [agent] });

/** A meter that keeps what is recorded. */
const recorder = () => {
  const lines: [name: string, value: number, tags: MetricTags][] = [];
  const counter = (name: string) => ({
    ...noopMetricMeter.createCounter(name),
    add: (value: number, tags: MetricTags = {}) => void lines.push([name, value, tags]),
  });
  const histogram = (name: string) => ({
    ...noopMetricMeter.createHistogram(name),
    record: (value: number, tags: MetricTags = {}) => void lines.push([name, value, tags]),
  });
  const own = { createCounter: counter, createHistogram: histogram };
  const meter: MetricMeter = Object.assign(Object.create(noopMetricMeter), own);
  const metrics = createMetrics(meter);
  return { lines, metrics, observe: metrics.observer(config) };
};

const call = { agent: 'clerk', tool: 'pay', callId: '1.1', callKey: 'k:1.1' };
const of = { agent: 'clerk', tool: 'pay' };
const asked = { agent: 'clerk', model: 'm' };

it.each<[string, ObservedFact, unknown[]]>([
  [
    'a call',
    { kind: 'ended', ...call, outcome: 'denied', at: 5 },
    [['countersign_calls', 1, { ...of, outcome: 'denied' }]],
  ],
  [
    'a wait',
    { kind: 'waited', ...call, outcome: 'modified', since: 1_000, at: 3_500, isEdited: true },
    [
      ['countersign_decisions', 1, { ...of, outcome: 'modified' }],
      ['countersign_decision_wait', 2.5, { ...of, outcome: 'modified' }],
    ],
  ],
  [
    'a wait over which the clock was set back',
    { kind: 'waited', ...call, outcome: 'expired', since: 3_500, at: 1_000, isEdited: false },
    [
      ['countersign_decisions', 1, { ...of, outcome: 'expired' }],
      ['countersign_decision_wait', 0, { ...of, outcome: 'expired' }],
    ],
  ],
  ['a doubt', { kind: 'doubted', ...call, at: 5 }, [['countersign_calls_in_doubt', 1, of]]],
  [
    'a turn',
    { kind: 'turn', agent: 'clerk', outcome: 'answered', at: 5 },
    [['countersign_turns', 1, { agent: 'clerk', outcome: 'answered' }]],
  ],
  [
    'a model',
    { kind: 'model', ...asked, outcome: 'timeout', since: 0, at: 250 },
    [['countersign_model_latency', 0.25, { ...asked, outcome: 'timeout' }]],
  ],
  [
    'usage, without what the provider did not count',
    { kind: 'usage', ...asked, usage: { inputTokens: 3, outputTokens: 0, cost: 0.5, currency: 'EUR' } },
    [
      ['countersign_model_tokens', 3, { ...asked, type: 'input' }],
      ['countersign_model_cost', 0.5, { ...asked, currency: 'EUR' }],
    ],
  ],
  [
    'a tool that a model made up',
    { kind: 'ended', ...call, tool: 'rm_rf_1', outcome: 'unknown_tool', at: 5 },
    [['countersign_calls', 1, { agent: 'clerk', tool: 'unknown', outcome: 'unknown_tool' }]],
  ],
  [
    'an agent that is not here',
    { kind: 'turn', agent: 'somebody', outcome: 'failed', at: 5 },
    [['countersign_turns', 1, { agent: 'unknown', outcome: 'failed' }]],
  ],
])('counts %s', (_, fact, expected) => {
  const { lines, observe } = recorder();
  observe(fact);
  expect(lines).toEqual(expected);
});

it('counts the writes of a journal, also those that fail', async () => {
  const { lines, metrics } = recorder();
  const journal = metrics.watchJournal({
    read: async () => ({ state: 'none' as const }),
    begin: () => Promise.resolve(true),
    end: () => Promise.reject(new Error('the disk is full')),
    fault: () => Promise.resolve(undefined),
  });
  await expect(journal.begin('k')).resolves.toBe(true);
  await expect(journal.end('k', Object.create(null))).rejects.toThrow('the disk is full');
  expect(lines.map(([name, , tags]) => [name, tags])).toEqual([
    ['countersign_journal_write', { write: 'intent', outcome: 'success' }],
    ['countersign_journal_write', { write: 'outcome', outcome: 'failed' }],
  ]);
});

it.each([
  ['9464', { prometheus: { bindAddress: '127.0.0.1:9464' } }],
  ['0.0.0.0:9464', { prometheus: { bindAddress: '0.0.0.0:9464' } }],
  ['[::1]:9464', { prometheus: { bindAddress: '[::1]:9464' } }],
  ['http://collector:4317', { otel: { url: 'http://collector:4317', http: false } }],
  ['https://collector/v1/metrics', { otel: { url: 'https://collector/v1/metrics', http: true } }],
  ['grpc://collector:4317', { otel: { http: false } }],
])('sends metrics to %s', (place, expected) => {
  expect(metricsExporter(place)).toMatchObject(expected);
});

it('says where the metrics could not be served', () => {
  expect(metricsFailed('9464', new Error('Address already in use'))).toMatchObject({
    code: 'config_invalid',
    message: 'the metrics cannot be served at 9464: Address already in use',
  });
});
