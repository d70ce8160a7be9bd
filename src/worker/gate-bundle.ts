import { readFile } from 'node:fs/promises';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { gateActivities } from '../activities/gate';
import { gateInterceptor } from '../activities/gate/gated-call';
import type { GateWorker } from '../activities/gate/gated-tools';
import { CountersignError } from '../contract/errors';
import { gateMark, type GateNames } from '../contract/gate';

const INTERCEPTOR = require.resolve('../workflows/gate/interceptor');

/** The name of the plugin by which people are asked. */
export const GATE_PLUGIN = 'countersign.gate';

/** Whether the plugins of a worker, or of a bundle, bring the gate. */
export function hasGate(plugins: readonly { name: string }[] = []): boolean {
  return plugins.some(({ name }) => name === GATE_PLUGIN);
}

/** Adds the gate to the activities of a worker. */
export function withGateWorker(options: WorkerOptions, worker: GateWorker): WorkerOptions {
  const { activities = {}, interceptors } = options;
  return {
    ...options,
    activities: { ...activities, ...gateActivities(worker, activities) },
    interceptors: {
      ...interceptors,
      activity: [...(interceptors?.activity ?? []), gateInterceptor(worker)],
    },
  };
}

/** Adds the gate to what a bundle is made of: our interceptor, with the names of the calls about which it asks. */
export function withGate<O extends Pick<BundleOptions, 'workflowInterceptorModules'>>(
  options: O,
  names: GateNames,
): O {
  const { workflowInterceptorModules = [] } = options;
  return { ...options, workflowInterceptorModules: [...workflowInterceptorModules, moduleFor(names)] };
}

/** A module of its own text, so that no file has to be written and a bundle has the same code everywhere. */
function moduleFor(names: GateNames) {
  const text = [
    `import { gateInterceptors } from ${JSON.stringify(INTERCEPTOR)};`,
    `export const mark = ${JSON.stringify(gateMark(names))};`,
    `export const interceptors = gateInterceptors(${JSON.stringify(names)});`,
  ].join('\n');
  return `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`;
}

/**
 * Checks that a bundle that was made before has the gate, for the same names.
 *
 * @throws CountersignError `gate_missing`.
 */
export async function requireMark(
  bundle: NonNullable<WorkerOptions['workflowBundle']>,
  names: GateNames,
): Promise<void> {
  const code = 'code' in bundle ? bundle.code : await readFile(bundle.codePath, 'utf8');
  if (code.includes(gateMark(names))) return;
  const what = code.includes('countersign-gate:') ? 'a gate for other names' : 'no gate';
  throw new CountersignError('gate_missing', `the workflow bundle has ${what}`, {
    hint: 'Make it with the same plugin: `bundleWorkflowCode({ workflowsPath, plugins: [plugin] })`.',
  });
}
