import { defined } from '../../history/defined';
import type { Probe } from '../../history/replay/replayer';
import { encryptionOf } from '../open-turn';
import { replayApart } from './apart/replay-apart';
import { bundleToReplay } from './bundle';
import type { Replaying } from './judge';
import type { Work } from './work';

type Replay = Replaying['replay'];

/** Replays in a process of its own, with a deadline. */
export async function replayWithDeadline({ options, context, taskTimeoutMs }: Work): Promise<Replay> {
  const workflowBundle = await bundleToReplay(options.workflows);
  const { encryptionKeyFile: keyFile } = context.options();
  const setup = { workflowBundle, taskTimeoutMs, ...defined({ keyFile }) };
  return (runs) => replayApart({ setup, env: context.env }, runs);
}

/** Replays in this process, where a debugger can stop the code for as long as it likes. */
export async function replayHere({ options, context }: Work, probe: Probe): Promise<Replay> {
  const workflowBundle = await bundleToReplay(options.workflows);
  const [{ codeToReplay }, { replayRuns }] = await Promise.all([
    import('./code.js'),
    import('../../history/replay/replayer.js'),
  ]);
  const code = codeToReplay(workflowBundle, (await encryptionOf(context)).replay());
  return (runs) => replayRuns(code, runs, probe);
}
