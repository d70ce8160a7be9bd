import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Countersign } from '../../lib/client';
import { defineAgent, defineConfig, defineTool, scriptedModel, startWorker } from '../../lib/index';
import { absolute, type Bench, type Measurement } from '../figure';
import { freshId } from '../subjects';

const CALLS = 300;
const GRANTED = 500;
const ROUNDS = 3;

/** 300 turns at once, each with one call that a grant allows: how many run, none of which a person was asked about, and how many uses that counts. */
export const grants: Measurement = {
  name: 'grants',
  isAlone: true,
  async run(bench) {
    const taskQueue = freshId('granted');
    const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-grants-'));
    let ran = 0;
    const pay = defineTool({
      ...{ name: 'pay', description: 'Pays.', safety: 'dangerous', effect: 'unsafe' },
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
      handler: () => {
        ran += 1;
        return 'paid';
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { n: 1 } }] }, { text: 'done' }]);
    const config = defineConfig({
      agents: [defineAgent({ name: 'payer', instructions: 'Do it.', model, tools: [pay] })],
      ...{ taskQueue, log: { calls: false } },
      stateDir,
    });
    const worker = await startWorker({ config, address: bench.address, logLevel: 'ERROR' });
    const client = await connect({ client: bench.client });
    try {
      const rounds: Round[] = [];
      for (let n = 0; n < ROUNDS; n++) {
        ran = 0;
        rounds.push({ ...(await playRound(bench, client, taskQueue)), ran });
        bench.say(`${CALLS} granted calls at once: ${JSON.stringify(rounds.at(-1))}`);
      }
      const worst = (of: (round: Round) => number): number => Math.max(...rounds.map(of));
      return [
        absolute(`of ${CALLS} granted calls at once run`, Math.min(...rounds.map((round) => round.ran)), {
          ...{ least: CALLS, unit: 'calls' },
        }),
        absolute(
          'uses claimed for them',
          worst(({ used }) => used),
          { most: CALLS, unit: 'uses' },
        ),
        absolute(
          'until the last of these turns has ended',
          worst(({ seconds }) => seconds),
          { unit: 's' },
        ),
      ];
    } finally {
      await worker.stop();
      await client.close();
      rmSync(stateDir, { recursive: true, force: true });
    }
  },
};

interface Round {
  ran: number;
  used: number;
  seconds: number;
}

async function playRound(bench: Bench, client: Countersign, taskQueue: string): Promise<Omit<Round, 'ran'>> {
  const start = async (): Promise<string> =>
    (await client.start({ agent: 'payer', prompt: 'go', taskQueue })).turn;
  const first = await start();
  while ((await client.view(first)).requests.length === 0) await delay(100);
  const { terms } = await client.grants.plan(first, '1.1', { by: 'ann', times: GRANTED });
  const { id } = await client.grants.give(terms);
  await client.decide(first, { callId: '1.1', decision: 'denied' });
  await bench.client.workflow.getHandle(first).result();
  const since = performance.now();
  const turns = await Promise.all(Array.from({ length: CALLS }, start));
  const results = turns.map((turn) => bench.client.workflow.getHandle(turn).result());
  await Promise.race([Promise.all(results), delay(240_000)]);
  const seconds = (performance.now() - since) / 1000;
  const { grants } = await client.grants.list();
  const used = grants.find((grant) => grant.id === id)?.used ?? NaN;
  await client.grants.revoke({ id, by: 'ann' });
  return { used, seconds };
}
