import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { JsonObject } from '../../src/contract/json';
import { defineAgent } from '../../src/tools/define-agent';
import { runCli } from '../cli/run-cli';
import { recordTool, TAG_SCHEMA, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { decide, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
/** Of this run alone: other tests have turns on the same server. */
const agent = `payer-${randomUUID()}`;
const UNTIL = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
let fixture: Fixture;
let client: Countersign;

const RULES = `rules:
  - { name: closed, tools: [pay], when: 'args.tag == "closed"', then: refuse, reason: the month is closed }
  - { name: small, tools: [pay], when: 'args.tag.startsWith("small")', then: run, until: ${UNTIL} }
  - { name: first look, tools: [look], then: ask }
`;

/** Of a rule, so that a grant is void once its rule is another. */
const digest = expect.stringMatching(/^[0-9a-f]{64}$/);

beforeAll(async () => {
  fixture = await startFixture({});
  const policy = join(fixture.directory, 'policy.yaml');
  await writeFile(policy, RULES);
  const tools = [
    recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'unsafe' }),
    recordTool(effects, { name: 'look' }),
  ];
  const payer = defineAgent({ name: agent, instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [payer], policy });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

async function start(name: string, args: JsonObject) {
  const prompt = book.add({ toolCalls: [{ name, arguments: args }] }, readBack);
  const { turn } = await client.start({ agent, prompt, taskQueue: fixture.taskQueue });
  return fixture.client.workflow.getHandle(turn);
}

async function approved(tag: string): Promise<string> {
  const handle = await start('pay', { tag });
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  await handle.result();
  return handle.workflowId;
}

const rulingOf = async (turn: string) => (await client.view(turn)).calls[0]?.ruling;

test('a rule refuses a call: the model learns why, nobody is asked, nothing runs', async () => {
  const handle = await start('pay', { tag: 'closed' });
  const { answer, counts } = await handle.result();
  expect(answer).toContain("Policy refused this call: the rule 'closed' refuses it: the month is closed");
  expect(counts).toMatchObject({ requests: 0 });
  expect(await effects.lines('closed')).toEqual([]);
  expect(await rulingOf(handle.workflowId)).toEqual({ rule: 'closed', then: 'refuse', digest });
});

test('a rule asks about a safe call, and the request says so', async () => {
  const handle = await start('look', { tag: 'first' });
  await waitFor(handle, '1.1');
  const { requests } = await client.view(handle.workflowId);
  expect(requests[0]?.policyReason).toBe("the rule 'first look' asks");
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await handle.result();
  expect(await effects.lines('first')).toEqual(['look first']);
});

test('a rule with a last day lets a dangerous call run, and stands on record', async () => {
  const handle = await start('pay', { tag: 'small 1' });
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { requests: 0 } });
  expect(await effects.lines('small 1')).toEqual(['pay small 1']);
  expect(await rulingOf(handle.workflowId)).toEqual({ rule: 'small', then: 'run', until: UNTIL, digest });
  const { out } = await cli('show', handle.workflowId);
  expect(out).toContain(`policy  the rule 'small' lets it run until ${UNTIL}`);
});

test('a dangerous call that no rule lets run asks as ever', async () => {
  const handle = await start('pay', { tag: 'large' });
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await handle.result();
  expect(await effects.lines('large')).toEqual([]);
});

test('past turns are held against other rules', async () => {
  const turns = [await approved('salary'), await approved('salary'), await approved('salary')];
  await until(
    'the turns to be listed',
    async () => (await client.list({ agent, state: 'answered' })).length >= 7,
  );
  const config = join(fixture.directory, 'agents.cjs');
  await writeFile(config, configText());
  const candidate = join(fixture.directory, 'candidate.yaml');
  await writeFile(
    candidate,
    `rules: [{ name: salaries, tools: [pay], when: 'args.tag == "salary"', then: run, until: ${UNTIL} }]`,
  );
  const test = await cli('policy', 'test', config, '--file', candidate, '--agent', agent, '--json');
  expect({ code: test.code, err: test.err }).toEqual({ code: 0, err: '' });
  const found = JSON.parse(test.out);
  const salaries = found.otherwise.filter(({ rule }: { rule?: string }) => rule === 'salaries');
  expect(salaries.map(({ turn, was, would }: Record<string, string>) => [turn, was, would]).sort()).toEqual(
    turns.map((turn) => [turn, 'ask', 'run']).sort(),
  );
  const table = await cli('policy', 'test', config, '--file', candidate, '--agent', agent);
  expect(table.out).toMatch(/\d+ turns, \d+ calls: \d+ as decided, \d+ otherwise/);
  expect(table.out).toContain('salaries');
});

const cli = (...args: string[]) => runCli(args, { env: { TEMPORAL_ADDRESS: testAddress(), COLUMNS: '200' } });

/** The tools of the worker as another config has them. */
function configText(): string {
  const lib = join(__dirname, '..', '..', 'lib');
  const tool = (name: string, safety: string): string =>
    `defineTool({ name: '${name}', description: 'x', safety: '${safety}', handler: () => '', parameters: ${JSON.stringify(TAG_SCHEMA)} })`;
  return `const { defineAgent, defineTool, offlineModel } = require('${lib}');
module.exports = defineAgent({ name: '${agent}', instructions: 'x', model: offlineModel(), tools: [${tool('pay', 'dangerous')}, ${tool('look', 'safe')}] });`;
}
