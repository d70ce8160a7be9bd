/** A worker of the bench of sizes, set up as users have it. Arguments: the server, the ledger, a folder for its state, and how many turns it keeps in memory (none: as users have it). It ends with the bench. */
import { join } from 'node:path';
import { defineConfig, startWorker } from '../../lib/index';
import { agentsOf } from './agents';
import { SCALE_QUEUE } from './context';

const [, , address = '', ledger = '', stateDir = '', cached = ''] = process.argv;

async function main(): Promise<void> {
  process.once('disconnect', () => process.exit(1));
  const config = defineConfig({
    ...{ agents: agentsOf(ledger), taskQueue: SCALE_QUEUE, stateDir },
    log: { calls: false },
  });
  const workflowBundle = join(__dirname, '..', '..', 'lib', 'workflow-bundle.js');
  const memory = cached === '' ? {} : { maxCachedWorkflows: Number(cached) };
  await startWorker({ config, address, workflowBundle, logLevel: 'ERROR', ...memory });
  process.send?.('ready');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
