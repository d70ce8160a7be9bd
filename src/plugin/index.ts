/**
 * `countersign/plugin`: asks people about the activities of your own workflows, in your own Temporal workers.
 *
 * @module
 */
export { CountersignPlugin } from './plugin';
export type { ActivityGate, PluginOptions } from './options';
