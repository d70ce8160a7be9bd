import type { DataConverter } from '@temporalio/common';
import {
  DefaultLogger,
  Runtime,
  type ReplayWorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';

/** How the SDK replays with a bundle. What Temporal logs is left out: the same is told with each run. */
export function codeToReplay(
  workflowBundle: WorkflowBundleOption,
  dataConverter: DataConverter,
): ReplayWorkerOptions {
  if (Runtime._instance === undefined) {
    const logger = new DefaultLogger('ERROR', () => undefined);
    const logging = { filter: { core: 'ERROR', other: 'ERROR' } as const, forward: {} };
    // A signal ends a replay at once, as it does any command.
    Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging } });
  }
  return { workflowBundle, dataConverter };
}
