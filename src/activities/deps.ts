import type { Logger } from '@temporalio/common';
import type { Agent } from '../tools/define-agent';
import type { Executor } from '../tools/executor';
import type { Journal } from './journal';
import type { Memory } from './memory';

/** What the activities of one worker are made of. */
export interface ActivityDeps {
  agents: ReadonlyMap<string, Agent>;
  /** Names of the tools that this queue owns. Which tool a name means is up to the agent of a call. */
  toolNames: ReadonlySet<string>;
  /** The queue whose tools are prepared in `think` itself. */
  taskQueue: string;
  executor: Executor;
  memory: Memory;
  journal: Journal;
  log: Logger;
}
