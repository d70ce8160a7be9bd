import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineConfig, defineTool, scriptedModel, startWorker } from '../../lib/index';
import { absolute, type Measurement } from '../figure';
import { freshId } from '../subjects';
import { runTurn } from './step';

/** Calls of one step; and how many a minute the server may give out. */
const CALLS = 60;
const PER_MINUTE = 240;

/** How many calls a minute come to a queue with a limit, while there are more to give out. */
export const rate: Measurement = {
  name: 'rate',
  async run(bench) {
    const starts: number[] = [];
    const slow = freshId('slow');
    const tool = defineTool({
      name: 'ask_service',
      description: 'Asks a service that takes so many requests a minute.',
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
      taskQueue: slow,
      handler: () => void starts.push(performance.now()),
    });
    const calls = Array.from({ length: CALLS }, (_, n) => ({ name: tool.name, arguments: { n } }));
    const model = scriptedModel([{ toolCalls: calls }, { text: 'done' }]);
    const agent = defineAgent({ name: 'limited', instructions: 'Do it.', model, tools: [tool] });
    const taskQueue = freshId('limited');
    const config = defineConfig({
      ...{ agents: [agent], taskQueue, log: { calls: false }, callsPerMinute: { [slow]: PER_MINUTE } },
      stateDir: mkdtempSync(join(tmpdir(), 'countersign-bench-rate-')),
    });
    const worker = await startWorker({ config, address: bench.address, logLevel: 'ERROR' });
    try {
      await runTurn(bench, agent.name, taskQueue);
    } finally {
      await worker.stop();
    }
    if (starts.length !== CALLS) throw new Error(`${starts.length} of ${CALLS} calls ran`);
    const minutes = ((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / 60_000;
    return [
      absolute(`calls a minute of a queue that may have ${PER_MINUTE}`, (CALLS - 1) / minutes, {
        ...{ most: Math.round(PER_MINUTE * 1.1), unit: '' },
      }),
    ];
  },
};
