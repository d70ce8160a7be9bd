import type { Logger } from '@temporalio/common';
import type { Pricing } from '../contract/spending/prices';
import type { PolicyRules } from '../authority/rules/policy-file';
import type { ApproversSource } from '../authority/rules/current-file';
import type { Agent } from '../tools/define-agent';
import type { RunDeps } from '../tools/executor';
import type { FileStore } from '../store/stored-file';
import type { Traces } from '../system/traces';
import type { GiveBacks } from './given-back';
import type { Journal } from './journal';
import type { Memory } from './conversation';
import type { Observe } from './observed';
import type { GrantsReader } from '../authority/grants/worker-claim';
import type { PausesReader } from '../authority/pauses/worker-hold';
import type { TextStreams } from './text-streams';

/** The parts that the activities of one worker use. */
export interface ActivityDeps {
  agents: ReadonlyMap<string, Agent>;
  /** Names of the tools of this task queue. The agent of a call decides which tool a name means. */
  toolNames: ReadonlySet<string>;
  /** The task queue whose tools are prepared in `think` itself. */
  taskQueue: string;
  /** The task queue that only this process polls, for calls whose state it holds. */
  holderQueue: string;
  /** The prices of models. */
  pricing: Pricing;
  /** The time that a task waits for a worker that has its agent, in milliseconds. */
  agentWaitMs: number;
  /** Hooks, log and runner of handlers. */
  run: RunDeps;
  memory: Memory;
  /** The files of messages. Absent: this worker has no file store. */
  files?: FileStore;
  /** Streams the text that models write to people who watch. Absent: nobody can watch. */
  texts?: TextStreams;
  /** The approvers file, which says who may decide what. Absent: anybody may decide everything. */
  approvers?: ApproversSource;
  /** The policy rules. Absent: the config has no policy rules. */
  rules?: PolicyRules;
  /**
   * Reads the pauses before each call with an effect, and before each model call. Absent: nothing can be paused here.
   */
  pauses?: PausesReader;
  /** Reads the grants if a person would have to decide. Absent: a grant allows nothing here. */
  grants?: GrantsReader;
  journal: Journal;
  /** Absent: this installation has no keys, so a call is believed to be given back if its worker's name is on that. */
  giveBacks?: GiveBacks;
  log: Logger;
  /** Called with each fact, for metrics. Absent: nobody counts. */
  observe?: Observe;
  /** Takes the spans. Absent: no spans are made. */
  traces?: Traces;
}
