import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { absolute, type Bench, type Measurement } from '../figure';
import { freshId, OUR_QUEUE } from '../subjects';

const JITI = join(__dirname, '..', '..', 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');

/** What ./audit-process.ts prints. */
const Times = z.object({ recordsPerSecond: z.number(), verifySeconds: z.number() });

/**
 * How fast histories that were downloaded become records in a signed file, and how fast a big file is verified: in a
 * process without a worker, as the command's is. Where a worker runs, Node follows every promise on its behalf.
 */
export const audit: Measurement = {
  name: 'audit',
  async run(bench) {
    const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    try {
      writeFileSync(join(directory, 'history'), await historyOf(bench, 'small'));
      bench.say('writing and verifying a million records');
      const { recordsPerSecond, verifySeconds } = await measure(directory);
      return [
        absolute('audit export', recordsPerSecond, { least: 20_000, unit: 'records/s' }),
        absolute('verification of a million audit records', verifySeconds, { most: 10, unit: 's' }),
      ];
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

async function historyOf({ client }: Bench, agent: string): Promise<Uint8Array> {
  const workflowId = freshId('audit');
  const args = [{ agent, prompt: 'go' }];
  await client.workflow.execute('agentTurn', { taskQueue: OUR_QUEUE, workflowId, args });
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  return temporal.api.history.v1.History.encode(history).finish();
}

async function measure(directory: string): Promise<z.infer<typeof Times>> {
  const script = join(__dirname, 'audit-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [JITI, script, directory]);
  return Times.parse(JSON.parse(stdout));
}
