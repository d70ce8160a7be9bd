import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type BundleOptions,
  type BundlerPlugin,
  bundleWorkflowCode,
  Runtime,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import { CountersignError, errorMessage } from '../contract/errors';
import { WORKFLOWS } from '../contract/names';
import { hasGate, withGate } from './gate-bundle';
import { sdkVersion } from './sdk-copies';

/** What a bundle contains apart from the workflow of turns. */
export interface BundleWorkflowsOptions extends Pick<
  BundleOptions,
  'workflowInterceptorModules' | 'ignoreModules' | 'webpackConfigHook' | 'plugins' | 'logger'
> {
  /** A file, or a folder with an index, that exports your own workflows. @default turns only */
  workflowsPath?: string;
}

/**
 * Modules that are loaded once for each worker thread and not once for each workflow: our pure modules, with the
 * libraries that they need. They take longer to load than all other modules, and each copy would stay in memory as long
 * as its turn waits. A module that imports the SDK must not be listed here: the SDK keeps the scope of a workflow in
 * its modules, and ends that scope when any workflow leaves the cache.
 */
const SHARED = [
  ...['dry-run', 'digest', 'payloads', 'schema/schema', 'worker-tools'].map((name) => `contract/${name}`),
  ...['grants/claim-use', 'grants/grant-schemas', 'pauses/pause', 'votes/open-votes'].map(
    (name) => `authority/${name}`,
  ),
  ...['decide', 'move', 'outcomes', 'state'].map((name) => `lifecycle/${name}`),
  ...['session/state', 'summary', 'turn-state'].map((name) => `workflows/${name}`),
].map((name) => require.resolve(`../${name}`));

const TURNS = require.resolve('../workflows');

/** The path of a payload converter that never throws. It leaves out values that it cannot convert. */
export const LENIENT_CONVERTER = require.resolve('../encryption/bundle-converters');

/**
 * Bundles the workflow of turns together with your own workflows. A worker that gets source files does this when it
 * starts. In production do it once, write the code to a file, and pass that file as `workflowBundle`.
 *
 * @example
 * const { code } = await bundleWorkflows({ workflowsPath: require.resolve('./workflows') });
 * await writeFile('workflow-bundle.js', code);
 */
export async function bundleWorkflows(options: BundleWorkflowsOptions = {}): Promise<{ code: string }> {
  const { workflowsPath } = options;
  if (workflowsPath === undefined) return bundle(options, TURNS);
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bundle-'));
  try {
    const entry = join(folder, 'workflows.js');
    await writeFile(entry, exportsOf(resolve(workflowsPath)));
    const asks = hasGate(options.plugins) ? options : withGate(options, {});
    return await bundle({ ...asks, webpackConfigHook: findsTheSdk(options.webpackConfigHook) }, entry);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bundle(options: BundleWorkflowsOptions, workflowsPath: string) {
  const { workflowInterceptorModules = [] } = options;
  const { code } = await bundleWorkflowCode({
    ...options,
    workflowsPath,
    // Ours comes last, so that it can end the way of a signal without hiding it from another.
    workflowInterceptorModules: [
      ...workflowInterceptorModules,
      require.resolve('../workflows/signal-interceptor'),
    ],
    preloadModules: SHARED,
    failureConverterPath: LENIENT_CONVERTER,
    payloadConverterPath: LENIENT_CONVERTER,
  });
  return { code };
}

type Hook = NonNullable<BundleOptions['webpackConfigHook']>;

/** Adds the folder from which our entry finds the SDK: the SDK's own entry lies beside ours. */
function findsTheSdk(then: Hook = (configuration) => configuration): Hook {
  const sdk = join(require.resolve('@temporalio/workflow/package.json'), '..', '..', '..');
  return (configuration) => {
    const { resolve: found } = configuration;
    return then({ ...configuration, resolve: { ...found, modules: [...(found?.modules ?? []), sdk] } });
  };
}

/**
 * The exports of the bundle. A named export takes precedence over a star, so your own file may also export workflows
 * with these names.
 */
function exportsOf(workflowsPath: string) {
  const own = `export * from ${JSON.stringify(workflowsPath)};\n`;
  return `${own}export { ${Object.values(WORKFLOWS).join(', ')} } from ${JSON.stringify(TURNS)};\n`;
}

const BUILT = join(__dirname, '..', 'workflow-bundle.js');
/** The file with the SDK's version in the bundle. The workflow side has to have the same version as the worker. */
const BUILT_WITH = join(__dirname, '..', 'workflow-bundle.sdk');

/** The settings that decide which bundle a worker uses. */
interface BundleSource {
  workflowBundle?: string;
  worker?: Pick<WorkerOptions, 'workflowsPath' | 'interceptors' | 'plugins'>;
}

/**
 * The bundle that the build made, or the bundle that the settings name. If there is none, for example when we run from
 * sources, the workflows are bundled now.
 *
 * @throws CountersignError `config_invalid` for a bundle that cannot be read.
 */
export async function bundleCode({ workflowBundle, worker: own = {} }: BundleSource): Promise<string> {
  const { workflowsPath, interceptors } = own;
  const workflowInterceptorModules = interceptors?.workflowModules;
  if (workflowBundle !== undefined) return readBundle(workflowBundle);
  const plugins = (own.plugins ?? []).filter(changesBundles);
  const isPlain =
    workflowsPath === undefined && workflowInterceptorModules === undefined && plugins.length === 0;
  if (isPlain && (await isBuilt())) return readFile(BUILT, 'utf8');
  const { logger } = Runtime.instance();
  const options = { workflowsPath, workflowInterceptorModules, logger };
  return (await bundleWorkflows({ ...options, plugins })).code;
}

function changesBundles(plugin: WorkerPlugin): plugin is WorkerPlugin & BundlerPlugin {
  return 'configureBundler' in plugin;
}

async function isBuilt() {
  return existsSync(BUILT_WITH) && (await readFile(BUILT_WITH, 'utf8')) === sdkVersion();
}

async function readBundle(path: string) {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new CountersignError(
      'config_invalid',
      `the workflow bundle cannot be read: ${errorMessage(cause)}`,
      {
        hint: 'make it with bundleWorkflows, or leave workflowBundle out',
        cause,
      },
    );
  }
}
