import { on } from 'node:events';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { loadEncryption } from '../../encryption/load';
import { replayRuns, type RunToReplay } from '../../history/replay/replayer';
import { codeToReplay, unpackHistory } from './sdk';
import { type ReplayAnswer, ProgressCounter, type ThreadData } from './messages';

/** Entry of the thread that replays. Its code may never stop, so the process that started it watches it. */
async function replay(port: MessagePort, { setup, counter }: ThreadData) {
  const { workflowBundle, keyFile } = setup;
  const code = codeToReplay(workflowBundle, loadEncryption({ keyFile }).replay());
  for await (const { observed, error } of replayRuns(code, asked(port), new ProgressCounter(counter)))
    port.postMessage({ observed, error } satisfies ReplayAnswer);
}

async function* asked(port: MessagePort): AsyncGenerator<RunToReplay> {
  for await (const [{ turn, history }] of on(port, 'message'))
    yield { turn, history: unpackHistory(history) };
}

if (parentPort !== null) void replay(parentPort, workerData);
