import { makeContinueAsNewFunc, type Workflow, workflowInfo } from '@temporalio/workflow';
import { defined } from '../contract/defined';

/**
 * Continues as new on the current build of the deployment; without builds, on any worker. A plain continue-as-new stays on
 * its build. Lists show what they showed until the next run writes it anew: the server itself would go back to what the first
 * run was started with.
 */
export function continueOnCurrentBuild<F extends Workflow>(...args: Parameters<F>): Promise<never> {
  const { memo } = workflowInfo();
  return makeContinueAsNewFunc<F>({ initialVersioningBehavior: 'AUTO_UPGRADE', ...defined({ memo }) })(
    ...args,
  );
}
