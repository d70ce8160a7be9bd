import { readFile } from 'node:fs/promises';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { CountersignError } from '../contract/errors';
import { gateMark, type GatedNames } from '../contract/gate';

const INTERCEPTOR = require.resolve('../workflows/gate/interceptor');

/** Adds the gate to what a bundle is made of: our interceptor, with the names of the calls about which it asks. */
export function withGate(options: BundleOptions, names: GatedNames): BundleOptions {
  const { workflowInterceptorModules = [] } = options;
  return { ...options, workflowInterceptorModules: [...workflowInterceptorModules, moduleFor(names)] };
}

/** A module of its own text, so that no file has to be written and a bundle has the same code everywhere. */
function moduleFor(names: GatedNames): string {
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
  names: GatedNames,
): Promise<void> {
  const code = 'code' in bundle ? bundle.code : await readFile(bundle.codePath, 'utf8');
  if (code.includes(gateMark(names))) return;
  const what = code.includes('countersign-gate:') ? 'a gate for other names' : 'no gate';
  throw new CountersignError('gate_missing', `the workflow bundle has ${what}`, {
    hint: 'Make it with the same plugin: `bundleWorkflowCode({ workflowsPath, plugins: [plugin] })`.',
  });
}
