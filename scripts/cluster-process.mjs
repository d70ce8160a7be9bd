/** Starts the cluster, says where it is in one line of JSON, and ends it when its input ends: so it does not outlive whoever started it. */
import { once } from 'node:events';
import { withCluster } from './cluster.mjs';
import { say } from './root.mjs';

const inputEnds = once(process.stdin.resume(), 'close');
const ended = inputEnds.then(() => Promise.reject(new Error('nobody needs the cluster any more')));
ended.catch(() => undefined);

withCluster(ended, async ({ address, directory, pid, postgres }) => {
  process.stdout.write(`${JSON.stringify({ address, directory, pid, postgres })}\n`);
  await inputEnds;
}).catch((error) => {
  say(error.message);
  process.exitCode = 1;
});
