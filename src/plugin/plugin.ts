import { createRequire } from 'node:module';
import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';
import {
  type BundleOptions,
  type BundlerPlugin,
  type ReplayWorkerOptions,
  Runtime,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import { gateAgent, type GateWorker } from '../activities/gate/gated-tools';
import { CountersignError } from '../contract/errors';
import { childName } from '../contract/gate';
import { loadEncryption } from '../encryption/load';
import type { openRules } from '../authority/rules/worker-verdict';
import { ensureAttributes } from '../engine/search-attributes';
import { defineConfig } from '../tools/define-config';
import { activityDeps, makeShared } from '../worker/options';
import { GATE_PLUGIN, requireMark, withGate, withGateWorker } from '../worker/gate-bundle';
import { type PluginOptions, readOptions } from './options';

/**
 * Lets people decide on activities of your own workflows before they run. Give it to your workers, and to bundles that
 * you make yourself; nothing else changes.
 *
 * @example
 * const plugin = new CountersignPlugin({ gate: { refund: { parameters: z.object({ cents: z.int().max(10_000) }) } } });
 * const worker = await Worker.create({ workflowsPath, activities, taskQueue, plugins: [plugin] });
 */
export class CountersignPlugin implements WorkerPlugin, BundlerPlugin {
  readonly name = GATE_PLUGIN;
  private readonly read: ReturnType<typeof readOptions>;

  /** @throws CountersignError `config_invalid`, naming the activity and the rule. */
  constructor(private readonly options: PluginOptions) {
    this.read = readOptions(options);
  }

  configureBundler(options: BundleOptions): BundleOptions {
    return withGate(options, this.read.names);
  }

  /** @throws CountersignError `gate_missing`, `config_invalid`, `not_ready`. */
  async configureWorker(options: WorkerOptions): Promise<WorkerOptions> {
    const { workflowBundle, activities = {}, connection, namespace = 'default' } = options;
    if (workflowBundle !== undefined) await requireMark(workflowBundle, this.read.names);
    requireReadable(options);
    if (connection !== undefined) await ensureAttributes({ connection, namespace });
    // A worker without activities would take those of other workers of its queue from now on.
    if (Object.keys(activities).length === 0) return options;
    this.warnOfUnknown(options.taskQueue, activities);
    return withGateWorker(options, await this.openWorker(options.taskQueue));
  }

  async configureReplayWorker(options: ReplayWorkerOptions): Promise<ReplayWorkerOptions> {
    const { workflowBundle } = options;
    if (workflowBundle !== undefined) await requireMark(workflowBundle, this.read.names);
    return options;
  }

  private warnOfUnknown(taskQueue: string, activities: object) {
    const unknown = [...this.read.gated.keys()].filter(
      (name) => !name.startsWith(childName('')) && !Object.hasOwn(activities, name),
    );
    if (unknown.length > 0)
      Runtime.instance().logger.warn(
        `the plugin gates ${unknown.join(', ')}, which this worker of queue ${taskQueue} does not have`,
      );
  }

  private async openWorker(taskQueue: string): Promise<GateWorker> {
    const { approvers, stateDir, policy } = this.options;
    const { tools, gated, before } = this.read;
    const config = defineConfig({ agents: [gateAgent([...tools])], taskQueue, approvers, stateDir });
    const shared = await makeShared({ config }, loadEncryption(), { rules: await this.openRules() });
    const deps = activityDeps(config, { queue: taskQueue, tools: [] }, shared);
    return { deps, gated, policy, before };
  }

  /** Nobody knows the types of all workflows, which are the agents here, and with `from` nobody knows all tools. */
  private async openRules(): Promise<Awaited<ReturnType<typeof openRules>>> {
    const { approvers: file } = this.options;
    if (file === undefined) return {};
    const { tools, names } = this.read;
    const isAny = Object.values(names).some(({ from }) => from !== undefined);
    const known = { tools: new Map(tools.map((tool) => [tool.name, tool])), servers: [] };
    const warn = (line: string): void => Runtime.instance().logger.warn(line);
    const { openAuthority } = await import('../authority/rules/current-file.js');
    return openAuthority({ file, policy: undefined, known: isAny ? undefined : known, warn });
  }
}

/**
 * People's messages and what the gate writes are plain JSON, whatever the converter of the application writes itself.
 *
 * @throws CountersignError `config_invalid` if the converter cannot read that.
 */
function requireReadable({ dataConverter }: WorkerOptions) {
  const path = dataConverter?.payloadConverterPath;
  if (path === undefined) return;
  const plain = { gate: [1, 'x', null] };
  try {
    const { payloadConverter }: { payloadConverter: PayloadConverter } = createRequire(__filename)(path);
    const read: unknown = payloadConverter.fromPayload(defaultPayloadConverter.toPayload(plain));
    if (JSON.stringify(read) === JSON.stringify(plain)) return;
  } catch {
    // Said below.
  }
  throw new CountersignError('config_invalid', `the payload converter ${path} does not read json/plain`, {
    hint: 'Let it read payloads with the encoding json/plain as the default converter does.',
  });
}
