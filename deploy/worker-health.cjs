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
  const client = await connect();
  try {
    const { pollers } = await client.client.connection.workflowService.describeTaskQueue({
      namespace: client.namespace,
      taskQueue: { name: QUEUE },
      taskQueueType: WORKFLOW_QUEUE,
    });
    if (!(pollers ?? []).some(isOurs)) throw new Error(`no worker of ${hostname()} polls ${QUEUE}`);
  } finally {
    await client.close();
  }
};

// A worker is called <process>@<machine>#<what it has>.
const isOfThisMachine = (identity) => identity.replace(/#[0-9a-f]+$/, '').endsWith(`@${hostname()}`);

const isOurs = ({ identity, lastAccessTime }) =>
  isOfThisMachine(identity) && Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < FRESH_MS;

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
