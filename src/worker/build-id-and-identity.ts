import { hostname } from 'node:os';
import type { WorkerOptions } from '@temporalio/worker';
import { CountersignError } from '../contract/errors';
import { DEPLOYMENT } from '../contract/names';
import type { Config } from '../tools/define-config';
import type { Tool } from '../tools/types';
import { toolSetDigest, workerIdentity } from '../contract/worker-name';
import type { ToolDigests } from '../contract/worker-tools';

/** The build of a deployment that a worker belongs to. */
export interface BuildSettings {
  /**
   * The name of this worker's code. A turn that this worker begins stays on workers of this build.
   * @default none: any worker of the queue goes on with any turn
   */
  buildId?: string;
  /**
   * The deployment that the build belongs to. A deployment groups all workers whose builds follow each other. @default
   * 'countersign'
   */
  deployment?: string;
}

/** The agents and tools of a config, by name and digest. */
export function digestsOf({ agents }: Config): ToolDigests {
  return Object.fromEntries(agents.map(({ name, registry }) => [name, byName(registry.list())]));
}

function byName(tools: readonly Tool[]): Record<string, string> {
  return Object.fromEntries(tools.map(({ name, digest }) => [name, digest]));
}

/**
 * The name of a worker. Two workers of a task queue have the same digest in their names if each of them can take the
 * tasks of the other.
 */
export function identityOn(config: Config, queue: string): string {
  const here = { pid: process.pid, host: hostname() };
  if (queue === config.taskQueue) return workerIdentity(here, digestsOf(config));
  const far = config.agents.flatMap(({ name, registry }) => {
    const tools = registry.list().filter((tool) => tool.taskQueue === queue);
    return tools.length === 0 ? [] : [[name, byName(tools)] as const];
  });
  // The task queue belongs to us, and the config does not name it. The SDK reports all workers of a connection under
  // the identity of the last one.
  return workerIdentity(here, far.length === 0 ? digestsOf(config) : Object.fromEntries(far));
}

/**
 * A build id from a version of this package, and from the agents and tools as they are declared. It does not depend on
 * the code of the agents and tools.
 */
export function autoBuildId(config: Config, version: string): string {
  return `${version}-${toolSetDigest(digestsOf(config))}`;
}

/** The patterns of both names. The server joins them with a colon or a dot. */
const BUILD_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const DEPLOYMENT_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/**
 * The options that make a worker part of a build. Empty if the worker has no build. Turns of a build are pinned.
 *
 * @throws CountersignError `config_invalid` for a name that is not valid, and if the build is given twice.
 */
export function deploymentOptions({
  buildId,
  deployment: deploymentName = DEPLOYMENT,
  worker: own,
}: BuildSettings & { worker?: Pick<WorkerOptions, 'workerDeploymentOptions'> }): Pick<
  WorkerOptions,
  'workerDeploymentOptions'
> {
  const given = own?.workerDeploymentOptions;
  if (buildId === undefined) return given === undefined ? {} : { workerDeploymentOptions: given };
  if (given !== undefined)
    throw new CountersignError(
      'config_invalid',
      'the build of the worker is said twice',
      'Give `buildId`, or `workerDeploymentOptions` among the options of `worker`.',
    );
  if (!BUILD_ID.test(buildId)) throw badName('build id', buildId, 'dots');
  if (!DEPLOYMENT_NAME.test(deploymentName)) throw badName('name of a deployment', deploymentName, undefined);
  const version = { buildId, deploymentName };
  return {
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' },
  };
}

function badName(what: string, given: string, dots: string | undefined) {
  const signs = ['letters', 'digits', ...(dots === undefined ? [] : [dots]), 'underscores'].join(', ');
  return new CountersignError(
    'config_invalid',
    `${JSON.stringify(given)} cannot be a ${what}`,
    `Use ${signs} and hyphens, 128 at most; begin with a letter or a digit.`,
  );
}
