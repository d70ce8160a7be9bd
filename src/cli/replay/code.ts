import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DataConverter } from '@temporalio/common';
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  type ReplayWorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { CountersignError } from '../../contract/errors';
import { ROOT } from '../own-modules';

const silent = new DefaultLogger('ERROR', () => undefined);

/**
 * The code to replay with: the turn of this installation, or workflows of somebody's own, which are bundled now.
 * What Temporal logs is left out: the same is told with each run.
 *
 * @throws CountersignError `file_failed` for a path that is not there, `config_invalid` for what cannot be bundled.
 */
export async function codeToReplay(
  workflows: string | undefined,
  dataConverter: DataConverter,
): Promise<ReplayWorkerOptions> {
  const workflowBundle = await bundleOf(workflows);
  if (Runtime._instance === undefined) {
    const logging = { filter: { core: 'ERROR', other: 'ERROR' } as const, forward: {} };
    Runtime.install({ logger: silent, telemetryOptions: { logging } });
  }
  return { workflowBundle, dataConverter };
}

async function bundleOf(workflows: string | undefined): Promise<WorkflowBundleOption> {
  if (workflows === undefined) return { codePath: join(ROOT, 'lib', 'workflow-bundle.js') };
  const workflowsPath = resolve(workflows);
  if (!existsSync(workflowsPath))
    throw new CountersignError('file_failed', `--workflows ${workflows}: there is no such file`);
  try {
    return await bundleWorkflowCode({ workflowsPath, logger: silent });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CountersignError('config_invalid', `the workflows in ${workflows} cannot be bundled: ${why}`, {
      hint: 'name the file that your worker has as workflowsPath',
      cause,
    });
  }
}
