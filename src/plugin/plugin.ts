import {
  type BundleOptions,
  type BundlerPlugin,
  type ReplayWorkerOptions,
  Runtime,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import type { GateWorker } from '../activities/gate/gated-tools';
import { loadEncryption } from '../encryption/load';
import { ensureAttributes } from '../engine/search-attributes';
import { defineAgent } from '../tools/define-agent';
import { defineConfig } from '../tools/define-config';
import { activityDeps, makeShared } from '../worker/options';
import { GATE_PLUGIN, requireMark, withGate, withGateWorker } from '../worker/gate-bundle';
import { type PluginOptions, type ReadOptions, readOptions } from './options';

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
  private readonly read: ReadOptions;

  /** @throws CountersignError `config_invalid`, naming the activity and the rule. */
  constructor(private readonly options: PluginOptions) {
    this.read = readOptions(options);
  }

  configureBundler(options: BundleOptions): BundleOptions {
    return withGate(options, this.read.names);
  }

  /** @throws CountersignError `gate_missing`, `not_ready`. */
  async configureWorker(options: WorkerOptions): Promise<WorkerOptions> {
    const { workflowBundle, activities = {}, connection, namespace = 'default' } = options;
    if (workflowBundle !== undefined) await requireMark(workflowBundle, this.read.names);
    if (connection !== undefined) await ensureAttributes({ connection, namespace });
    // A worker without activities would take those of other workers of its queue from now on.
    if (Object.keys(activities).length === 0) return options;
    this.warnOfUnknown(activities);
    return withGateWorker(options, await this.openWorker(options.taskQueue));
  }

  async configureReplayWorker(options: ReplayWorkerOptions): Promise<ReplayWorkerOptions> {
    const { workflowBundle } = options;
    if (workflowBundle !== undefined) await requireMark(workflowBundle, this.read.names);
    return options;
  }

  /** Another worker may have them. */
  private warnOfUnknown(activities: object): void {
    const unknown = Object.keys(this.read.names).filter(
      (name) => !/^child:/.test(name) && !(name in activities),
    );
    if (unknown.length === 0) return;
    const names = unknown.join(', ');
    Runtime.instance().logger.warn(`the worker has no activity ${names}, about which people are to be asked`);
  }

  private async openWorker(taskQueue: string): Promise<GateWorker> {
    const { approvers, stateDir, policy } = this.options;
    const { tools, gated, before } = this.read;
    const agent = defineAgent({ name: 'gate', instructions: 'A gate.', model: NO_MODEL, tools: [...tools] });
    const config = defineConfig({ agents: [agent], taskQueue, approvers, stateDir });
    const shared = await makeShared({ config }, loadEncryption());
    const deps = activityDeps(config, { queue: taskQueue, tools: [] }, shared);
    return { deps, gated, policy, before };
  }
}

/** The model is never asked. */
const NO_MODEL = { id: 'none', generate: () => Promise.reject(new Error('a gate has no model')) };
