import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { ClientContext } from '../../src/client/context';

/** An open workflow as visibility lists it, or with `more` over it. `second`: when it started. */
export function listed(
  workflowId: string,
  second: number,
  memo: Record<string, unknown>,
  more: object = {},
): WorkflowExecutionInfo {
  const info = {
    ...{ workflowId, runId: `${workflowId}-run`, memo, status: { name: 'RUNNING' }, searchAttributes: {} },
    startTime: new Date(second * 1_000),
    ...more,
  };
  return info as unknown as WorkflowExecutionInfo;
}

/**
 * A namespace that lists these workflows, the newest first, from the time on that a query names. `looked`: how many of
 * them were read.
 */
export function listing(workflows: readonly WorkflowExecutionInfo[]): {
  context: ClientContext;
  asked: { looked: number };
} {
  const asked = { looked: 0 };
  const list = async function* ({ query }: { query: string }) {
    const before = /StartTime < '([^']+)'/.exec(query)?.[1];
    for (const one of workflows) {
      if (before !== undefined && one.startTime.getTime() >= Date.parse(before)) continue;
      asked.looked += 1;
      yield one;
    }
  };
  const context = {
    connection: { withDeadline: async <T>(_: unknown, act: () => Promise<T>): Promise<T> => act() },
    lister: { workflow: { list } },
  } as unknown as ClientContext;
  return { context, asked };
}
