import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { connect } from '../../../src/client';
import type { ModelRequest } from '../../../src/models/model';
import type { ScriptedReply } from '../../../src/models/scripted';
import { waitForEnd } from '../../../src/testing';
import { defineAgent } from '../../../src/tools/define-agent';
import { recordTool, useEffects } from '../../support/effects';
import { type Fixture, startFixture } from '../../support/fixture';
import { scriptBook } from '../../support/script-book';
import { until } from '../../support/until';

/** A server that suggests to continue as new after a few events. */
const SUGGEST = 'limit.historyCount.suggestContinueAsNew=5';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;

beforeAll(async () => {
  const work = Array.from({ length: 200 }, (_, n) =>
    recordTool(effects, { name: `work_${n}`, description: `Does the work ${n}.` }),
  );
  const tools = [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'water_plants', description: 'Waters the plants of the office.' }),
    ...work,
  ];
  const findTools = { core: ['look'] };
  fixture = await startFixture({
    ownServer: { dynamicConfig: [SUGGEST] },
    agents: [defineAgent({ name: 'gardener', instructions: 'do', model: book.model, tools, findTools })],
  });
});

const look = { toolCalls: [{ name: 'look', arguments: { tag: 'garden' } }] };
const find = { toolCalls: [{ name: 'find_tools', arguments: { query: 'water plants', limit: 1 } }] };
const water = { toolCalls: [{ name: 'water_plants', arguments: { tag: 'garden' } }] };
const CORE = ['look', 'find_tools'];
const WITH_WATER = [...CORE, 'water_plants'];

/** A step that says which tools it was given. */
const telling =
  (given: string[][], reply: ScriptedReply) =>
  ({ tools }: ModelRequest): ScriptedReply => {
    given.push(tools.map(({ function: { name } }) => name));
    return reply;
  };

test('what was found is given from the next step on, in later runs of the turn and in a fork, and runs', async () => {
  const given: string[][] = [];
  const steps = [find, water, look, look, look, { text: 'done' }];
  const handle = await fixture.start('gardener', book.add(...steps.map((step) => telling(given, step))));
  expect(await handle.result()).toMatchObject({ answer: 'done', counts: { calls: 5, failed: 0 } });
  expect(given).toEqual([CORE, ...Array<string[]>(5).fill(WITH_WATER)]);
  expect(await effects.lines('water_plants')).toHaveLength(1);
  const runs = async (): Promise<number> =>
    (await fixture.client.workflow.count(`WorkflowId="${handle.workflowId}"`)).count;
  expect(await until('the runs', async () => (await runs()) > 2)).toBe(true);

  given.length = 0;
  const client = await connect({ client: fixture.client });
  const { turn } = await client.fork({ turn: handle.workflowId, at: '5.1' });
  expect((await waitForEnd(client, turn)).status).toBe('answered');
  expect(given).toEqual([WITH_WATER]);
});

test('the definitions of tools are in no event but in the answer of the search', async () => {
  const handle = await fixture.start('gardener', book.add(find, look, { text: 'done' }));
  await handle.result();
  const client = await connect({ client: fixture.client });
  const view = await client.view(handle.workflowId);
  expect(view.calls.map(({ tool }) => tool)).toEqual(['find_tools', 'look']);
  expect(view.calls[0]?.result?.content).toContain('Waters the plants of the office.');
  const history = historyToJSON(await handle.fetchHistory());
  const decoded = [...history.matchAll(/"data":\s*"([A-Za-z0-9+/=]+)"/g)]
    .map(([, data = '']) => Buffer.from(data, 'base64').toString())
    .join('\n');
  expect(decoded).toContain('gardener');
  expect(decoded).not.toContain('work_17');
});

test('a tool that was not looked for runs if it is called, and is given from then on', async () => {
  const given: string[][] = [];
  const steps = [water, { text: 'done' }].map((step) => telling(given, step));
  const handle = await fixture.start('gardener', book.add(...steps));
  expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0 } });
  expect(given).toEqual([CORE, WITH_WATER]);
});
