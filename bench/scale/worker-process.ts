/** A worker of the bench of sizes, set up as users have it. Arguments: the server, the ledger, and a folder for its state. It ends with the bench. */
import { join } from 'node:path';
import { defineConfig, startWorker } from '../../lib/index';
import { agentsOf } from './agents';
import { SCALE_QUEUE } from './context';

const [, , address = '', ledger = '', stateDir = ''] = process.argv;

async function main(): Promise<void> {
  process.once('disconnect', () => process.exit(1));
  const config = defineConfig({
    ...{ agents: agentsOf(ledger), taskQueue: SCALE_QUEUE, stateDir },
    log: { calls: false },
  });
  const workflowBundle = join(__dirname, '..', '..', 'lib', 'workflow-bundle.js');
  await startWorker({ config, address, workflowBundle, logLevel: 'ERROR' });
  process.send?.('ready');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
