import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { absolute, median, timed, type Bench, type Measurement } from '../figure';
import { freshId } from '../subjects';
import { runTurn } from './step';

const ROUNDS = 3;
const COMMAND = join(__dirname, '..', '..', 'bin', 'countersign.js');
const MB = 1e6;
const SIGNAL_BYTES = 1.9 * MB;

/** A turn with 40 MB on record, as the command shows it in a process of its own: many runs with outputs, and one with signals. */
export const show: Measurement = {
  name: 'show',
  async run(bench) {
    bench.say('a turn with 40 outputs of 1 MiB');
    const outputs = await runTurn(bench, 'huge');
    bench.say('a turn with 21 signals of 1.9 MB');
    const signals = await flooded(bench);
    const seconds = [await shown(bench, outputs), await shown(bench, signals)];
    return [absolute('show of a 40 MB history', Math.max(...seconds), { most: 5, unit: 's' })];
  },
};

/** No worker takes it: whoever may signal made its history what it is. */
async function flooded({ client }: Bench): Promise<string> {
  const workflowId = freshId('flooded');
  const args = [{ agent: 'huge', prompt: 'go' }];
  const handle = await client.workflow.start('agentTurn', { taskQueue: freshId('nobody'), workflowId, args });
  const reason = 'x'.repeat(SIGNAL_BYTES);
  for (let sent = 0; sent < 40 * MB; sent += SIGNAL_BYTES)
    await handle.signal('approval', { callId: '1.1', decision: 'denied', reason });
  return workflowId;
}

async function shown({ address, say }: Bench, turn: string): Promise<number> {
  const run = promisify(execFile);
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const show = () =>
      run(process.execPath, [COMMAND, 'show', turn, '--address', address], { maxBuffer: 64 * MB });
    samples.push((await timed(show)) / 1000);
  }
  say(`shown in ${samples.map((sample) => sample.toFixed(2)).join(', ')} s`);
  return median(samples);
}
