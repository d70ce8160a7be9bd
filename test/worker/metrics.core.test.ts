import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../src/client';
import { freePorts } from '../../src/engine/server-args';
import { approveNext } from '../../src/testing';
import { inboxMetrics } from '../../src/server/monitoring';
import { defineAgent } from '../../src/tools/define-agent';
import { root } from '../support/build';
import { askedTools, recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { endInEveryWay, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const tools = [recordTool(effects, { name: 'look' }), ...askedTools(effects)];
const agent = defineAgent({ name: 'payer', instructions: 'do', model: book.model, tools });
const prices = { book: { input: 1, output: 1 } };
const usage = { inputTokens: 1_000, outputTokens: 500 };

let fixture: Fixture;
let place: string;
let health: string;

const scrape = async (): Promise<string> => (await fetch(`http://${place}/metrics`)).text();

beforeAll(async () => {
  [place = '', health = ''] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
  fixture = await startFixture({ workers: 0, agents: [agent], prices });
  await fixture.addWorker({ metrics: place, health });
});

/** Starts a turn that asks for these tools in one step. */
const ask = (...names: string[]) =>
  fixture.start(
    'payer',
    book.add({ toolCalls: names.map((name) => ({ name, arguments: { tag: 'x' } })), usage }, readBack),
  );

it('counts what became of calls, decisions, models and turns, under no name that a model made up', async () => {
  const client = await connect({ client: fixture.client });
  const looked = await ask('look', 'made_up_by_a_model');
  await looked.result();
  const modified = await ask('pay');
  await approveNext(client, modified.workflowId, { arguments: { tag: 'y' } });
  await modified.result();
  const hung = await endInEveryWay(client, ask);
  const text = await until('the facts of the last workflow task', async () => {
    const now = await scrape();
    return now.includes('countersign_calls_in_doubt_total') && now;
  });
  const of = (tool: string, outcome: string): string => `{agent="payer",outcome="${outcome}",tool="${tool}"}`;
  const asked = 'agent="payer",model="book"';
  const expected = [
    `countersign_calls_total${of('look', 'success')} 1`,
    `countersign_calls_total${of('unknown', 'tool_not_found')} 1`,
    `countersign_calls_total${of('pay', 'success')} 2`,
    `countersign_calls_total${of('pay', 'denied')} 1`,
    `countersign_calls_total${of('brief', 'expired')} 1`,
    ...['approved', 'modified', 'denied'].map((end) => `countersign_decisions_total${of('pay', end)} 1`),
    `countersign_decisions_total${of('brief', 'expired')} 1`,
    `countersign_decision_wait_seconds_count${of('pay', 'denied')} 1`,
    'countersign_calls_in_doubt_total{agent="payer",tool="hang"} 1',
    'countersign_turns_total{agent="payer",outcome="answered"} 5',
    `countersign_model_latency_seconds_count{${asked},outcome="success"} 11`,
    `countersign_model_tokens_total{${asked},type="input"} 6000`,
    `countersign_model_tokens_total{${asked},type="output"} 3000`,
    'countersign_journal_write_seconds_count{outcome="success",write="intent"} 3',
  ];
  const lines = text.split('\n');
  expect(expected.filter((line) => !lines.includes(line))).toEqual([]);
  expect(text).toMatch(/^countersign_model_cost_sum\{.*currency="USD".*\} 0\.009/m);
  expect(text).not.toContain('made_up_by_a_model');
  await hung.terminate();
});

it('counts nothing a second time where every workflow task replays the turn', async () => {
  const forgetful = await startFixture({ agents: [agent], prices, worker: { maxCachedWorkflows: 0 } });
  const client = await connect({ client: forgetful.client });
  const before = denials(await scrape());
  const calls = ['1.1', '1.2', '1.3'].map(() => ({ name: 'pay', arguments: { tag: 'x' } }));
  const turn = await forgetful.start('payer', book.add({ toolCalls: calls }, readBack));
  await waitFor(turn, '1.3');
  for (const callId of ['1.1', '1.2', '1.3'])
    await client.decideOrThrow(turn.workflowId, { callId, decision: 'denied' });
  await turn.result();
  const turns = await until('the end to be counted', async () => {
    const now = await scrape();
    return denials(now) >= before + 3 && now;
  });
  expect(denials(turns)).toBe(before + 3);
});

const denials = (text: string): number =>
  Number(
    /^countersign_calls_total\{agent="payer",outcome="denied",tool="pay"\} (\d+)$/m.exec(text)?.[1] ?? 0,
  );

it('has every metric that the dashboard and the alerts name', async () => {
  const inbox = await inboxMetrics({
    whole: () =>
      Promise.resolve({ waiting: { items: [ITEM], isComplete: true, version: 1 }, at: ITEM.since }),
  });
  const known = [...`${await scrape()}\n${inbox.text}`.matchAll(/^(\w+)[{ ]/gm)].map(([, name = '']) => name);
  const files = ['grafana/countersign.json', 'prometheus/alerts.yaml'];
  const text = files.map((name) => readFileSync(join(root, 'deploy', name), 'utf8')).join('\n');
  const named = [...text.matchAll(/\b(?:countersign|temporal)_\w+/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(20);
  expect([...new Set(named)].filter((name) => !known.includes(name))).toEqual([]);
});

const ITEM = {
  ...{ turn: 't', agent: 'payer', callId: '1.1', callKey: 'k', kind: 'request' as const, tool: 'pay' },
  ...{ summary: '', since: '2026-01-01T00:00:00.000Z', deadline: null, prompt: '' },
};

it('warns where the runtime of the process has other metrics', async () => {
  const warned: string[] = [];
  await fixture.addWorker({ metrics: '9999', warn: (line) => warned.push(line) });
  expect(warned).toEqual([
    'no metrics at "9999": this process has a runtime of Temporal\'s SDK, which keeps its own settings',
  ]);
});

it('answers probes, and refuses a port that is taken', async () => {
  const answers = ['health', 'ready'].map(async (path) => (await fetch(`http://${health}/${path}`)).text());
  expect(await Promise.all(answers)).toEqual(['ok\n', 'ready\n']);
  await expect(fixture.addWorker({ health })).rejects.toMatchObject({ code: 'config_invalid' });
});
