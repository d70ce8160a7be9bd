/**
 * Loaded into every thread of ./worker-process.ts. When asked it tells how long the longest activation of a workflow took
 * in its thread, then collects garbage and tells what the thread's heap holds. The threads that workflows run in are the
 * SDK's, and nothing else reaches them.
 */
const { BroadcastChannel, isMainThread } = require('node:worker_threads');

let longestMs = 0;

if (!isMainThread) {
  const { BaseVMWorkflow } = require('@temporalio/worker/lib/workflow/vm-shared');
  const { activate } = BaseVMWorkflow.prototype;
  BaseVMWorkflow.prototype.activate = async function (...args) {
    const start = performance.now();
    try {
      return await activate.apply(this, args);
    } finally {
      longestMs = Math.max(longestMs, performance.now() - start);
    }
  };
}

const channel = new BroadcastChannel('bench-probe');
channel.onmessage = ({ data }) => {
  if (data !== 'measure') return;
  // Twice: what finalizers let go of is collected the second time.
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  channel.postMessage({ bytes: heapUsed + external, longestMs });
};
channel.unref();
