import { Context } from '@temporalio/activity';
import { temporal } from '@temporalio/proto';

/**
 * What the server knows of the current attempt; undefined where it no longer waits for it: it timed out there, or its
 * run is over (a closed run keeps the list of what was pending).
 *
 * @throws where the server cannot be asked.
 */
export async function pendingAttempt(): Promise<temporal.api.workflow.v1.IPendingActivityInfo | undefined> {
  const { info, client } = Context.current();
  const { workflowExecutionInfo, pendingActivities } = await client.workflowService.describeWorkflowExecution(
    {
      namespace: info.namespace,
      execution: info.workflowExecution ?? null,
    },
  );
  if (workflowExecutionInfo?.status !== RUNNING) return undefined;
  return pendingActivities?.find(
    ({ activityId, attempt }) => activityId === info.activityId && attempt === info.attempt,
  );
}

const RUNNING = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING;
