import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { WorkflowBundleOption } from '@temporalio/worker';
import { CountersignError } from '../../contract/errors';
import { ROOT } from '../own-modules';

/**
 * The code to replay with: the turn of this installation, or workflows of somebody's own, which are bundled now.
 *
 * @throws CountersignError `file_failed` for a path that is not there, `config_invalid` for what cannot be bundled.
 */
export async function bundleToReplay(workflows: string | undefined): Promise<WorkflowBundleOption> {
  if (workflows === undefined) return { codePath: join(ROOT, 'lib', 'workflow-bundle.js') };
  const workflowsPath = resolve(workflows);
  if (!existsSync(workflowsPath))
    throw new CountersignError('file_failed', `--workflows ${workflows}: there is no such file`);
  try {
    return await bundleOwn(workflowsPath);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CountersignError('config_invalid', `the workflows in ${workflows} cannot be bundled: ${why}`, {
      hint: 'name the file that your worker has as workflowsPath',
      cause,
    });
  }
}

async function bundleOwn(workflowsPath: string): Promise<WorkflowBundleOption> {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  // What is wrong is told by the error.
  return bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR', () => undefined) });
}
