'use strict';
/** Healthy: this machine's worker has asked the server for work within the last two minutes. */
const { hostname } = require('node:os');
const { connect } = require('countersign/client');

const QUEUE = process.env.COUNTERSIGN_QUEUE || 'countersign';
/** A poll that finds nothing lasts one minute. */
const FRESH_MS = 120_000;
/** `temporal.api.enums.v1.TaskQueueType`. */
const WORKFLOW_QUEUE = 1;

const main = async () => {
  const desk = await connect();
  try {
    const { pollers } = await desk.client.connection.workflowService.describeTaskQueue({
      namespace: desk.namespace,
      taskQueue: { name: QUEUE },
      taskQueueType: WORKFLOW_QUEUE,
    });
    if (!(pollers ?? []).some(isOurs)) throw new Error(`no worker of ${hostname()} polls ${QUEUE}`);
  } finally {
    await desk.close();
  }
};

const isOurs = ({ identity, lastAccessTime }) =>
  identity.endsWith(`@${hostname()}`) && Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < FRESH_MS;

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
