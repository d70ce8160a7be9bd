/** A hand-written workflow that waits for a signal: the least that a decision can cost. Argument: the server's address. */
import { Client, Connection } from '@temporalio/client';
import { rawSignal } from '../figures/decision';
import { startBaseline } from '../subjects';
import { host } from './host.cjs';

async function main(address: string): Promise<void> {
  await startBaseline(address);
  const client = new Client({ connection: await Connection.connect({ address }) });
  host({ decide: rawSignal({ client }) });
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
