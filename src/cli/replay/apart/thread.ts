/** Entry of the thread that replays. It may never come to rest, so whoever started it watches it from outside. */
import { on } from 'node:events';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { loadEncryption } from '../../../encryption/load';
import { defined } from '../../../history/defined';
import { replayRuns, type RunToReplay } from '../../../history/replay/replayer';
import { codeToReplay } from '../code';
import { Beat } from './beat';
import type { Answer, ThreadData } from './messages';
import { unpackHistory } from './passed-on';

async function replay(port: MessagePort, { setup, beat }: ThreadData): Promise<void> {
  const { workflowBundle, keyFile } = setup;
  const code = codeToReplay(workflowBundle, loadEncryption(defined({ keyFile })).replay());
  for await (const { observed, error } of replayRuns(code, asked(port), new Beat(beat)))
    port.postMessage({ observed, ...defined({ error }) } satisfies Answer);
}

async function* asked(port: MessagePort): AsyncGenerator<RunToReplay> {
  for await (const [{ turn, history }] of on(port, 'message'))
    yield { turn, history: unpackHistory(history) };
}

if (parentPort !== null) void replay(parentPort, workerData);
