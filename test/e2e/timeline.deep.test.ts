import { scriptedModel } from '../../src/models/scripted';
import { connect, type Countersign } from '../../src/client';
import { type JudgedRun, judgeRuns, type NamedRun } from '../../src/cli/replay/judge-runs';
import { fetchRuns, newestRuns } from '../../src/cli/replay/replay';
import { makeDecode } from '../../src/history/decode/decode';
import { replayRuns } from '../../src/history/replay/replayer';
import { parsePoint, stateAfter, stateAt } from '../../src/history/moment';
import { timelineOf } from '../../src/history/timeline';
import { transcriptOf } from '../../src/history/transcript';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { runCli } from '../cli/run-cli';
import { startFixture, type Fixture } from '../support/fixture';
import { testAddress, testBundle } from '../support/server';
import { transcriptOf as transcriptQuery, waitFor } from '../support/turns';

const parameters = { type: 'object', properties: { n: { type: 'number', default: 7 } } } as const;
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters,
  handler: ({ n }) => `seen ${String(n)}`,
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters,
  safety: 'dangerous',
  handler: () => 'paid',
});
const tools = [look, pay];
const call = (name: string, args: object = {}) => ({ name, arguments: { ...args } });

const talk = defineAgent({
  name: 'talk',
  instructions: 'x',
  tools,
  model: scriptedModel([
    { text: 'first', toolCalls: [call('look'), call('nothing'), call('pay', { n: 1 })] },
    { toolCalls: [call('pay', { n: 2 })] },
    { text: 'done' },
  ]),
});

let fixture: Fixture;
let client: Countersign;
beforeAll(async () => {
  fixture = await startFixture({ agents: [talk] });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

test('the messages rebuilt from the record are those the turn holds, while it waits and at its end', async () => {
  const handle = await fixture.start('talk', 'go');
  const turn = handle.workflowId;
  await waitFor(handle, '1.3');
  const events = await client.timeline(turn);
  expect(transcriptOf(events).entries).toEqual(await transcriptQuery(handle));
  expect(stateAt(events, parsePoint('1.3')).view.requests).toMatchObject([
    { callId: '1.3', arguments: { n: 1 } },
  ]);
  await client.decide(turn, { callId: '1.3', decision: 'denied', reason: 'no' });
  await waitFor(handle, '2.1');
  await client.decide(turn, { callId: '2.1', decision: 'modified', arguments: { n: 3 }, reason: 'less' });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  const whole = await client.timeline(turn);
  expect(transcriptOf(whole).entries).toEqual(await transcriptQuery(handle));
  expect(timelineOf(whole).steps.map(({ calls }) => calls.map(({ phase }) => phase))).toEqual([
    ['done', 'done', 'done'],
    ['done'],
    [],
  ]);
  expect(stateAfter(whole, whole.length).view.calls.at(-1)).toMatchObject({
    arguments: { n: 2 },
    approved: { n: 3 },
    effective: { n: 3 },
  });
});

test('the command line tells a live turn and replays the newest runs', async () => {
  const handle = await fixture.start('talk', 'go');
  await waitFor(handle, '1.3');
  const env = { TEMPORAL_ADDRESS: testAddress() };
  const told = await runCli(['show', handle.workflowId], { env });
  expect(told).toMatchObject({ code: 0, err: '' });
  expect(told.out).toMatch(/1\.3 pay {2}waits for a decision[^]*decide:/);
  const one = await runCli(['replay', handle.workflowId], { env });
  expect(one).toMatchObject({ code: 0, err: '' });
  const query = `WorkflowId = '${handle.workflowId}'`;
  const batch = await runCli(['replay', '--last', '5', '--query', query, '--json'], { env });
  expect(JSON.parse(batch.out)).toMatchObject({ failed: 0, runs: [{ turn: handle.workflowId }] });
  const mistaken = await runCli(['replay', '--query', 'a =='], { env });
  expect(mistaken).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/^--query a ==: [^]*\[usage\]/),
  });
  const gone = await runCli(['show', 'gone-long-ago'], { env });
  expect(gone).toMatchObject({
    code: 4,
    out: '',
    err: expect.stringMatching(/retention[^]*\[not_found\]/),
  });
  await handle.terminate();
});

test('a turn that continued as new is shown and replayed as one', async () => {
  const ownServer = { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=40'] };
  const steps = [
    ...Array.from({ length: 8 }, (_, n) => ({ toolCalls: [call('look', { n })] })),
    { text: 'done' },
  ];
  const agent = defineAgent({ name: 'long', instructions: 'x', model: scriptedModel(steps), tools });
  const own = await startFixture({ agents: [agent], ownServer });
  const there = await connect({ address: own.address });
  const handle = await own.start('long', 'go on');
  await handle.result();
  const timeline = timelineOf(await there.timeline(handle.workflowId));
  expect(timeline.runs.length).toBeGreaterThan(1);
  expect(timeline.steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const runs = await newestRuns(there, { turn: handle.workflowId }, 10);
  const progress = { runs: runs.length, done: 0, gone: 0 };
  const judged: JudgedRun[] = [];
  const options = { workflowBundle: { codePath: testBundle() } };
  const replay = (all: AsyncIterable<NamedRun>) => replayRuns(options, all);
  for await (const one of judgeRuns({ replay, decode: makeDecode() }, fetchRuns(there, runs, progress)))
    judged.push(one);
  expect(judged).toHaveLength(timeline.runs.length);
  expect(judged.filter(({ finding }) => finding !== undefined)).toEqual([]);
  await there.close();
});
