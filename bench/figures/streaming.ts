import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineConfig, type Model, startWorker } from '../../lib/index';
import { absolute, type Bench, type Measurement } from '../figure';
import { freshId } from '../subjects';
import { openWebInbox } from './web-inbox';

const ROUNDS = 40;
const WORDS = 20;

/** The first word of a reply until an open page has it, with worker and web inbox in one process as in `dev`. */
export const streaming: Measurement = {
  name: 'streaming',
  async run(bench) {
    const place = await openWebInbox(bench);
    const { client, web, headers } = place;
    const told = talker();
    const taskQueue = freshId('talker');
    const agent = defineAgent({ name: 'talker', instructions: 'Talk.', model: told.model, tools: [] });
    const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-stream-'));
    const config = defineConfig({ agents: [agent], taskQueue, stateDir, log: { calls: false } });
    const worker = await startWorker({
      ...{ config, address: bench.address, logLevel: 'ERROR', stream: web.takeText },
    });
    try {
      const delays: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const { turn } = await client.start({ agent: 'talker', prompt: 'go', taskQueue });
        delays.push(await firstWord(`${web.url}/api/turns/${turn}/events`, { headers, told }));
      }
      return [figureOf(bench, delays)];
    } finally {
      await worker.stop();
      await place.close();
    }
  },
};

function figureOf({ say }: Bench, delays: number[]) {
  const sorted = delays.sort((a, b) => a - b);
  say(`first word shown after ${sorted.map((delay) => delay.toFixed(1)).join(', ')} ms`);
  const most = sorted.at(-2) ?? NaN;
  return absolute('first streamed word → shown, 39 of 40', most, { most: 100, unit: 'ms' });
}

/** A model that talks once `begin` is called. */
function talker() {
  let begin: () => void;
  let began = 0;
  let begun = new Promise<void>((resolve) => (begin = resolve));
  const model: Model = {
    id: 'talker',
    generate: async ({ onText }) => {
      await begun;
      begun = new Promise((resolve) => (begin = resolve));
      began = performance.now();
      for (let word = 0; word < WORDS; word++) onText?.('word ');
      return { text: 'word '.repeat(WORDS), toolCalls: [], finishReason: 'stop' };
    },
  };
  return { model, begin: () => begin(), began: () => began };
}

interface Watching {
  headers: Record<string, string>;
  told: ReturnType<typeof talker>;
}

/** Milliseconds from the first word to a page that reads the turn already. */
async function firstWord(url: string, { headers, told }: Watching): Promise<number> {
  const { body } = await fetch(url, { headers });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = '', isTold = false; ;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) throw new Error('the stream ended without a word');
    text += value;
    if (text.includes('event: text')) break;
    if (!isTold && text.includes('"thinking"')) {
      isTold = true;
      told.begin();
    }
  }
  const delay = performance.now() - told.began();
  await reader?.cancel();
  return delay;
}
