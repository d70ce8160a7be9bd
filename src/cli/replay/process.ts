import { on } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { span } from '../../contract/text/times';
import {
  type ReplayAnswer,
  overdue,
  ProgressCounter,
  type Setup,
  stuckAnswer,
  type ThreadData,
} from './messages';

/**
 * Entry of the process that replays, in a thread. Only ending the process reliably ends code that never stops:
 * Temporal's core sometimes panics when its thread is terminated. The main thread stays free to report that.
 */
async function serve() {
  // Nobody waits for answers any more, and an orderly end would wait for the code. So we kill this process.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  const messages = on(process, 'message');
  const { value: first } = await messages.next();
  const [setup] = first;
  const thread = startThread(setup);
  for await (const [ask] of messages) thread.postMessage(ask);
}

function startThread(setup: Setup): Worker {
  const counter = new ProgressCounter();
  const workerData: ThreadData = { setup, counter: counter.shared };
  const thread = new Worker(join(__dirname, 'thread.js'), { workerData });
  thread.on('message', say);
  thread.on('error', (error) => say(lastWords(error, counter)));
  void watch(setup, counter);
  return thread;
}

async function watch({ taskTimeoutMs }: Setup, counter: ProgressCounter) {
  const startedId = await overdue(counter, taskTimeoutMs);
  say(stuckAnswer({ startedId, how: `works for ${span(taskTimeoutMs)} and does not come to rest` }));
}

function say(answer: ReplayAnswer) {
  process.send?.(answer);
}

/**
 * The last answer before the process ends. An endless loop that keeps its data may run out of memory before it runs out
 * of time.
 */
function lastWords(error: Error, counter: ProgressCounter): ReplayAnswer {
  const at = counter.read();
  const isFull = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (!isFull || at === undefined) return { broken: error.message };
  return stuckAnswer({ startedId: at.startedId, how: 'takes all memory and does not come to rest' });
}

void serve();
