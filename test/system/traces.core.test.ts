import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context as active, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { defaultPayloadConverter } from '@temporalio/common';
import { Client } from '@temporalio/client';
import { z } from 'zod';
import { connect, type Countersign } from '../../src/client';
import { freePorts } from '../../src/engine/server-args';
import { approveNext, denyNext } from '../../src/testing';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { defineAgent } from '../../src/tools/define-agent';
import { turnSpanIds } from '../../src/system/traces';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { until } from '../support/until';

const Value = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
  z.object({ boolValue: z.boolean() }).transform(({ boolValue }) => boolValue),
  z.object({ arrayValue: z.unknown() }).transform(() => 'a list'),
]);
const Span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  startTimeUnixNano: z.coerce.bigint(),
  endTimeUnixNano: z.coerce.bigint(),
  attributes: z
    .array(z.object({ key: z.string(), value: Value }))
    .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value]))),
});
type Span = z.infer<typeof Span>;
const Body = z.object({
  resourceSpans: z.array(z.object({ scopeSpans: z.array(z.object({ spans: z.array(Span) })) })),
});

/** What the collector got. */
const spans: Span[] = [];

/** A collector over HTTP; `answers` says whether it does. */
const openCollector = (answers: boolean): Server =>
  createServer((request, response) => {
    let text = '';
    request.on('data', (part) => (text += String(part)));
    request.on('end', () => {
      if (!answers) return;
      const { resourceSpans } = Body.parse(JSON.parse(text));
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans)));
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');

const exporterTo = (port: number): BatchSpanProcessor =>
  new BatchSpanProcessor(
    new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces`, timeoutMillis: 500 }),
  );
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const effects = useEffects();
const book = scriptBook();
const tools = [
  // Its own span lies in that of the call.
  recordTool(effects, { name: 'look' }, () =>
    trace.getTracer('app').startActiveSpan('lookup', (span) => {
      span.end();
      return Promise.resolve('seen');
    }),
  ),
  recordTool(effects, { name: 'pay', safety: 'dangerous' }),
];
const agent = defineAgent({ name: 'traced', instructions: 'do', model: book.model, tools });
const boss = defineAgent({ name: 'boss', instructions: 'do', model: book.model, tools: [agentTool(agent)] });
const usage = { inputTokens: 12, outputTokens: 3 };

let fixture: Fixture;
let client: Countersign;
let provider: NodeTracerProvider;
let good: BatchSpanProcessor;
let collectors: Server[];

beforeAll(async () => {
  collectors = [openCollector(true), openCollector(false)];
  const [closed = 0] = await freePorts(1);
  await until('both to listen', () => collectors.every(({ listening }) => listening));
  const [takes, hangs] = collectors.map((one) => exporterTo(portOf(one)));
  if (takes === undefined || hangs === undefined) throw new Error('there are two collectors');
  good = takes;
  // A second one never answers, and a third one is down.
  const spanProcessors = [takes, hangs, exporterTo(closed)];
  provider = new NodeTracerProvider({ idGenerator: turnSpanIds(), spanProcessors });
  provider.register();
  // Each workflow task replays the turn from its start.
  fixture = await startFixture({ agents: [agent, boss], worker: { maxCachedWorkflows: 0 } });
  client = await connect({ client: fixture.client });
});

afterAll(async () => {
  await provider.shutdown().catch(() => undefined);
  for (const server of collectors) {
    server.closeAllConnections();
    server.close();
  }
  trace.disable();
  active.disable();
});

/** Works through a turn of four calls: one runs, one is edited, one denied, one made up. Returns its id. */
async function workThrough(start: (prompt: string) => Promise<string>): Promise<string> {
  const calls = ['look', 'pay', 'pay', 'made_up'].map((name) => ({ name, arguments: { tag: name } }));
  const turn = await start(book.add({ toolCalls: calls, usage }, readBack));
  await approveNext(client, turn, { arguments: { tag: 'less' } });
  await denyNext(client, turn);
  await fixture.client.workflow.getHandle(turn).result();
  return turn;
}

const startTurn = async (prompt: string): Promise<string> =>
  (await client.start({ agent: 'traced', prompt, taskQueue: fixture.taskQueue })).turn;

/** The spans of a turn, once that of the turn itself is there. */
const spansOf = (turn: string): Promise<Span[]> =>
  until(`the spans of ${turn}`, async () => {
    await good.forceFlush();
    const found = spans.filter(({ attributes }) => attributes['gen_ai.conversation.id'] === turn);
    return found.some(({ name }) => name === 'invoke_agent traced') && found;
  });

const parentNames = (some: readonly Span[]): string[] =>
  some
    .map(({ name, parentSpanId }) => {
      const parent = spans.find(({ spanId }) => spanId === parentSpanId);
      return `${name} < ${parentSpanId === undefined ? 'nothing' : (parent?.name ?? 'a stranger')}`;
    })
    .sort();

const IN_A_TURN = [
  'chat book < invoke_agent traced',
  'chat book < invoke_agent traced',
  'decision pay < invoke_agent traced',
  'decision pay < invoke_agent traced',
  'execute_tool < invoke_agent traced',
  'execute_tool look < invoke_agent traced',
  'execute_tool pay < invoke_agent traced',
  'execute_tool pay < invoke_agent traced',
];

it('tells a turn as a tree of spans, each once, in the trace of whoever started it', async () => {
  const turn = await trace.getTracer('app').startActiveSpan('request', async (span) => {
    const id = await workThrough(startTurn);
    span.end();
    return id;
  });
  const found = await spansOf(turn);
  expect(parentNames(found)).toEqual([...IN_A_TURN, 'invoke_agent traced < request']);
  expect(new Set(found.map(({ traceId }) => traceId)).size).toBe(1);
  expect(parentNames(spans.filter(({ name }) => name === 'lookup'))).toEqual(['lookup < execute_tool look']);
});

it('says how long a person took and how each call ended, without any text', async () => {
  const turn = await workThrough(startTurn);
  const found = await spansOf(turn);
  const facts = (name: string): Span['attributes'][] =>
    found.filter((span) => span.name === name).map(({ attributes }) => attributes);
  const [decided, other] = facts('decision pay');
  expect([decided, other].map((one) => [one?.['countersign.outcome'], one?.['countersign.edited']])).toEqual([
    ['modified', true],
    ['denied', false],
  ]);
  expect(decided?.['countersign.wait_seconds']).toBeGreaterThan(0);
  const calls = facts('execute_tool pay').map((one) => [one['countersign.call_id'], one['error.type']]);
  expect(calls.sort()).toEqual([
    ['1.2', undefined],
    ['1.3', 'denied'],
  ]);
  expect(facts('execute_tool')).toMatchObject([{ 'error.type': 'tool_not_found' }]);
  expect(facts('chat book')[0]).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'book',
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 3,
  });
  expect(facts('invoke_agent traced')).toMatchObject([
    { 'countersign.outcome': 'answered', 'countersign.steps': 2, 'gen_ai.usage.input_tokens': 12 },
  ]);
  for (const { startTimeUnixNano, endTimeUnixNano } of found)
    expect(endTimeUnixNano).toBeGreaterThanOrEqual(startTimeUnixNano);
  expect(found.flatMap(({ attributes }) => Object.keys(attributes))).not.toContain('gen_ai.input.messages');
  // Nobody started it in a span: it is a trace of its own.
  expect(parentNames(found)).toEqual([...IN_A_TURN, 'invoke_agent traced < nothing']);
});

it.each([true, false])(
  'puts a child turn into the turn that calls it (started in a span: %s)',
  async (isIn) => {
    const task = book.add({ text: 'done' });
    const prompt = book.add({ toolCalls: [{ name: 'traced', arguments: { task } }] }, readBack);
    const start = async (): Promise<string> =>
      (await client.start({ agent: 'boss', prompt, taskQueue: fixture.taskQueue })).turn;
    const turn = await (isIn
      ? trace.getTracer('app').startActiveSpan('request', async (span) => {
          span.end();
          return start();
        })
      : start());
    await fixture.client.workflow.getHandle(turn).result();
    const child = (await client.view(turn)).calls[0]?.child ?? '';
    const found = await spansOf(child);
    const [parent] = await until('the span of its parent', async () => {
      await good.forceFlush();
      const some = spans.filter(
        ({ name, attributes }) =>
          name === 'invoke_agent boss' && attributes['gen_ai.conversation.id'] === turn,
      );
      return some.length > 0 && some;
    });
    expect(parentNames(found)).toEqual([
      'chat book < invoke_agent traced',
      'invoke_agent traced < invoke_agent boss',
    ]);
    expect(new Set(found.map(({ traceId }) => traceId))).toEqual(new Set([parent?.traceId]));
    const [own] = found.filter(({ name }) => name === 'invoke_agent traced');
    expect(own?.parentSpanId).toBe(parent?.spanId);
  },
);

it('joins the trace of a program that starts turns with the interceptors of the SDK', async () => {
  const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
  const carrier = { traceparent: `00-${ids.traceId}-${ids.spanId}-01` };
  const theirs = new Client({
    connection: fixture.client.connection,
    interceptors: {
      workflow: [
        {
          start: (input, next) => {
            const header = defaultPayloadConverter.toPayload(carrier);
            return next({ ...input, headers: { ...input.headers, '_tracer-data': header } });
          },
        },
      ],
    },
  });
  const turn = await workThrough(async (prompt) => {
    const { taskQueue } = fixture;
    const workflowId = `traced-${crypto.randomUUID()}`;
    const args = [{ agent: 'traced', prompt }];
    await theirs.workflow.start('agentTurn', { workflowId, taskQueue, args });
    return workflowId;
  });
  const found = await spansOf(turn);
  expect(new Set(found.map(({ traceId }) => traceId))).toEqual(new Set([ids.traceId]));
  const [own] = found.filter(({ name }) => name === 'invoke_agent traced');
  expect(own?.parentSpanId).toBe(ids.spanId);
});

it('shows texts only where the config says so, without secrets', async () => {
  const key = 'a-key-of-the-worker';
  const tell = recordTool(
    effects,
    { name: 'tell' },
    async (_, { secrets }) => `it is ${await secrets.get('key')}`,
  );
  const open = defineAgent({ name: 'open', instructions: 'do', model: book.model, tools: [tell] });
  const telling = await startFixture({ agents: [open], traces: { content: true }, secrets: () => key });
  const prompt = book.add({ toolCalls: [{ name: 'tell', arguments: { tag: 'x' } }] }, readBack);
  const turn = await telling.start('open', prompt);
  await turn.result();
  const found = await until('its spans', async () => {
    await good.forceFlush();
    const own = spans.filter(({ attributes }) => attributes['gen_ai.conversation.id'] === turn.workflowId);
    return own.some(({ name }) => name === 'invoke_agent open') && own;
  });
  const [call] = found.filter(({ name }) => name === 'execute_tool tell');
  expect(call?.attributes['gen_ai.tool.call.arguments']).toBe('{"tag":"x"}');
  expect(call?.attributes['gen_ai.tool.call.result']).toMatch(/^it is /);
  expect(found.filter(({ name }) => name === 'chat book')[0]?.attributes['gen_ai.input.messages']).toContain(
    prompt,
  );
  expect(JSON.stringify(found.map(({ attributes }) => attributes))).not.toContain(key);
});
