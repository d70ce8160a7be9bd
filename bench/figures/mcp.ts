import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  defineAgent,
  defineConfig,
  type Model,
  type RunningWorker,
  scriptedModel,
  startWorker,
} from '../../lib/index';
import { openConfig } from '../../lib/tools/mcp';
import { deps, writeLock } from '../mcp-lock';
import { absolute, alternate, median, timed, type Bench, type Figure, type Measurement } from '../figure';
import { OUR_QUEUE, startBaseline } from '../subjects';
import { perStep, runLoop, runTurn, STEPS } from './step';

const ROUNDS = 20;
const OPEN_ROUNDS = 21;
const MANY = 1000;

const program = (tools: number) => ({
  command: process.execPath,
  args: [join(__dirname, '..', 'mcp-server.cjs'), String(tools)],
});

/** `one` has a single tool, and `many` has a thousand. */
const mcpServers = { one: program(1), many: program(MANY) };

/** What calls of MCP servers cost over the calls themselves, and what a thousand of their tools cost where one is used. */
export const mcp: Measurement = {
  name: 'mcp',
  isAlone: true,
  async run(bench) {
    const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-mcp-'));
    try {
      const mcpLock = join(directory, 'lock');
      await writeLock(mcpLock, mcpServers);
      return [...(await calls(bench, mcpLock, directory)), ...(await opening(mcpLock))];
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** Writes the definitions of tools as text, as every adapter of a provider does. */
function writing(model: Model): Model {
  return {
    id: model.id,
    generate: (request) => {
      JSON.stringify(request.tools);
      return model.generate(request);
    },
  };
}

function configOf(mcpLock: string, stateDir: string) {
  const agent = (name: string, tool: string, tools: readonly string[], findTools = true) => {
    const step = { toolCalls: [{ name: tool, arguments: { limit: 1 } }] };
    const model = writing(scriptedModel([...Array.from({ length: STEPS }, () => step), { text: 'done' }]));
    return defineAgent({
      name,
      instructions: 'Do it.',
      model,
      tools,
      findTools,
      limits: { steps: STEPS + 1, repeats: false },
    });
  };
  const agents = [
    agent('pure', 'one__records_0', ['one__*']),
    agent('unsafe', 'many__records_1', ['many__records_1']),
    agent('searching', 'many__records_0', ['many__*']),
    agent('all', 'many__records_0', ['many__*'], false),
  ];
  const pure = { safety: 'safe', effect: 'pure' } as const;
  const mcpTools = {
    one__records_0: pure,
    many__records_0: pure,
    many__records_1: { safety: 'cautious', effect: 'unsafe' },
  } as const;
  return defineConfig({
    agents,
    mcpServers,
    mcpLock,
    mcpTools,
    stateDir,
    taskQueue: OUR_QUEUE,
    log: { calls: false },
  });
}

async function calls(bench: Bench, mcpLock: string, stateDir: string): Promise<Figure[]> {
  const config = configOf(mcpLock, stateDir);
  const workflowBundle = join(__dirname, '..', '..', 'lib', 'workflow-bundle.js');
  const ours: RunningWorker = await startWorker({
    config,
    address: bench.address,
    workflowBundle,
    logLevel: 'ERROR',
    warn: deps.warn,
  });
  const baseline = await startBaseline(bench.address);
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport(program(1)));
  const bare = async (): Promise<void> => {
    for (let n = 0; n < STEPS; n++) await client.callTool({ name: 'records_0', arguments: { limit: 1 } });
  };
  try {
    const [loops = [], bares = [], pures = [], unsafes = [], searching = [], all = []] = await alternate(
      ROUNDS,
      () => perStep(() => runLoop(bench, 'handWrittenLoop', STEPS)),
      () => perStep(bare),
      () => perStep(() => runTurn(bench, 'pure')),
      () => perStep(() => runTurn(bench, 'unsafe')),
      () => perStep(() => runTurn(bench, 'searching')),
      () => perStep(() => runTurn(bench, 'all')),
    );
    const over = (numbers: readonly number[], ...others: (readonly number[])[]): number =>
      median(numbers.map((ms, at) => others.reduce((left, other) => left - (other[at] ?? NaN), ms)));
    const ms = { unit: 'ms' };
    return [
      absolute('MCP call, over the bare call and an empty activity', over(pures, bares, loops), {
        most: 5,
        ...ms,
      }),
      absolute('the same of an unsafe tool', over(unsafes, bares, loops), ms),
      absolute('step with 1,000 MCP tools, over one tool', over(searching, pures), { most: 5, ...ms }),
      absolute('the same without find_tools', over(all, pures), { most: 5, ...ms }),
    ];
  } finally {
    await Promise.all([ours.stop(), baseline.stop(), client.close()]);
  }
}

/** From a config to agents with their tools; the start of the server itself is on both sides. */
async function opening(mcpLock: string): Promise<Figure[]> {
  const open = (name: 'one' | 'many') => async (): Promise<number> => {
    const model = scriptedModel([]);
    const agents = [defineAgent({ name: 'clerk', instructions: 'x', model, tools: [`${name}__*`] })];
    const config = defineConfig({ agents, mcpServers: { [name]: mcpServers[name] }, mcpLock });
    let close: (() => Promise<void>) | undefined;
    const ms = await timed(async () => ({ close } = await openConfig(config, deps)));
    await close?.();
    return ms;
  };
  const [one = [], many = []] = await alternate(OPEN_ROUNDS, open('one'), open('many'));
  const more = median(many.map((ms, at) => ms - (one[at] ?? NaN)));
  return [absolute('start with 1,000 MCP tools, over one tool', more, { most: 300, unit: 'ms' })];
}
