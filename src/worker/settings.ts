import type { LogLevel, WorkerOptions } from '@temporalio/worker';
import type { SendText, StreamPlace, StreamSender } from '../contract/streamed-text';
import type { EncryptionOptions } from '../encryption/keys';
import type { Config } from '../tools/define-config';
import type { BuildSettings } from './build-id-and-identity';

/** The settings of a worker of turns. They are the same whether we or the application make the worker. */
export interface TurnWorkerSettings extends BuildSettings {
  config: Config;
  /**
   * The folder of the journal of unsafe calls. It has to outlive the worker.
   * @default the config's, then `$XDG_STATE_HOME/countersign`, then `~/.local/state/countersign`
   */
  stateDir?: string;
  /**
   * The lowest level of messages that are written. @default 'WARN' for Temporal's own messages, 'INFO' for the lines
   * about calls
   */
  logLevel?: LogLevel;
  /** The number of workflows that are kept in memory. @default the SDK's own measure of this machine */
  maxCachedWorkflows?: number;
  /**
   * Keys that encrypt what Temporal keeps. @default those of `COUNTERSIGN_ENCRYPTION_*`; without any nothing is
   * encrypted
   */
  encryption?: EncryptionOptions;
  /**
   * The web inbox to which this worker sends the text of models while they write it, and the names of turns that have a
   * new request. A function gets the texts in this process.
   * @default `COUNTERSIGN_STREAM_URL` and `COUNTERSIGN_STREAM_TOKEN`; without them heartbeats carry the head of a text
   */
  stream?: StreamPlace | SendText | StreamSender;
  /** Path of a workflow bundle that `bundleWorkflows` made. @default the one in this package, which has turns only */
  workflowBundle?: string;
  /** Options of the worker of the config's own task queue, for its work apart from turns. */
  worker?: OwnWorkerOptions;
}

/**
 * Temporal's options for a worker that does more than turns: your own workflows (`workflowsPath`) and activities,
 * interceptors, plugins, numbers of tasks at once, a deployment version. Countersign sets the options that are left out
 * here. One of them is the converter, without which anybody who may signal a workflow could stop it.
 */
export type OwnWorkerOptions = Omit<
  WorkerOptions,
  | 'bundlerOptions'
  | 'connection'
  | 'dataConverter'
  | 'identity'
  | 'maxCachedWorkflows'
  | 'namespace'
  | 'taskQueue'
  | 'workflowBundle'
>;
