import { randomUUID } from 'node:crypto';
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { until } from '../../support/until';

/** Where scripts/cluster-parts.mjs put the server's programs. */
export const serverBin = (): string => {
  const value = process.env['COUNTERSIGN_TEST_SERVER_BIN'];
  if (value === undefined) throw new Error('run the tests of test/cluster with `npm run test:cluster`');
  return value;
};

const DAY = msToTs('1 day');

/** Makes a namespace of its own, without our search attributes, and waits until the server knows it everywhere. */
export const makeNamespace = async (
  { workflowService }: Connection,
  namespace = `test-${randomUUID().slice(0, 8)}`,
): Promise<string> => {
  await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: DAY });
  await until(`the namespace ${namespace}`, async () => {
    try {
      await workflowService.countWorkflowExecutions({ namespace });
      return true;
    } catch {
      return false;
    }
  });
  return namespace;
};
