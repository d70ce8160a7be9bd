import { isMainThread, workerData } from 'node:worker_threads';

/** How often it is looked. */
const LOOK_MS = 1000;

/** Entry of the thread that ends its process once the process that started that one is gone. */
if (!isMainThread)
  setInterval(() => {
    if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
  }, LOOK_MS);
