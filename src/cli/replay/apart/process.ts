/**
 * Entry of the process that replays, which it does in a thread. In a process, because only its end surely ends code that
 * does not come to rest: Temporal's core now and then panics where its thread is ended. In a thread, so that somebody is
 * left who can tell where the code was.
 */
import { on } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { span } from '../../../contract/times';
import { defined } from '../../../history/defined';
import { Beat } from './beat';
import { overdue } from './deadline';
import { stuckAnswer, type Answer, type Setup, type ThreadData } from './messages';

async function serve(): Promise<void> {
  // Nobody asks any more. An orderly end would wait for the code.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  const messages = on(process, 'message');
  const { value: first } = await messages.next();
  const [setup] = first;
  const thread = startThread(setup);
  for await (const [ask] of messages) thread.postMessage(ask);
}

function startThread(setup: Setup): Worker {
  const beat = new Beat();
  const workerData: ThreadData = { setup, beat: beat.shared };
  const thread = new Worker(join(__dirname, 'thread.js'), { workerData });
  thread.on('message', say);
  thread.on('error', (error) => say(lastWords(error, beat)));
  void watch(setup, beat);
  return thread;
}

async function watch({ taskTimeoutMs }: Setup, beat: Beat): Promise<void> {
  const startedId = await overdue(beat, taskTimeoutMs);
  // Loaded only now, so that a start does not wait for it.
  const { stopAndLocate } = await import('./place.js');
  const how = `works for ${span(taskTimeoutMs)} and does not come to rest`;
  say(stuckAnswer({ startedId, how, ...defined({ place: await stopAndLocate() }) }));
}

function say(answer: Answer): void {
  process.send?.(answer);
}

/** An endless loop that keeps what it makes may run out of memory sooner than out of time. */
function lastWords(error: Error, beat: Beat): Answer {
  const at = beat.read();
  const isFull = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (!isFull || at === undefined) return { broken: error.message };
  return stuckAnswer({ startedId: at.startedId, how: 'takes all memory and does not come to rest' });
}

void serve();
