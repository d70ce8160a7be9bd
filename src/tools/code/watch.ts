import { isMainThread, workerData } from 'node:worker_threads';

/** The interval between two checks. */
const LOOK_MS = 1000;

/** Entry of a thread that ends its process once the parent process is gone. */
if (!isMainThread)
  setInterval(() => {
    if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
  }, LOOK_MS);
