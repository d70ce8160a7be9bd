import {
  type ContinueAsNewOptions,
  makeContinueAsNewFunc,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow';

/** The id of this run if a reset made it. A reset gives the run a new id and keeps the original one. */
export function resetRun(): string | undefined {
  const { runId, originalExecutionRunId } = workflowInfo();
  return runId === originalExecutionRunId ? undefined : runId;
}

/**
 * Continues as new on the current build of the deployment or, without builds, on any worker. A plain continue-as-new
 * stays on its build.
 */
export function continueOnCurrentBuild<F extends Workflow>(...args: Parameters<F>): Promise<never> {
  return continueWithMemo<F>({ initialVersioningBehavior: 'AUTO_UPGRADE' }, ...args);
}

/**
 * Continues as new. The memo is passed on, so lists keep what they show until the next run writes it anew. Otherwise the
 * server would use the memo with which the first run was started.
 */
export function continueWithMemo<F extends Workflow>(
  how: ContinueAsNewOptions,
  ...args: Parameters<F>
): Promise<never> {
  const { memo } = workflowInfo();
  return makeContinueAsNewFunc<F>({ ...how, memo })(...args);
}
