import type { Priority } from '@temporalio/common';
import type { FileRef } from '../contract/session/files';
import type { NewFile } from '../store/stored-file';
import type { Budget } from '../contract/spending/budget';
import type { Whom } from '../authority/votes/waits-for';

/** A turn to start. */
export interface StartRequest {
  agent: string;
  prompt: string;
  /** Up to 8 files for the model to read. Their bytes go to the file store, and only references go into the history. */
  files?: readonly (NewFile | FileRef)[];
  /**
   * Letters, digits, `.`, `_`, `:` and `-`, at most 200. It must never have been used before. @default `turn-` and a
   * sortable random part
   */
  id?: string;
  /** @default `countersign` */
  taskQueue?: string;
  /** The person who asks, in at most 200 characters. Handlers get this name. Nobody checks it. @default nobody */
  requester?: string;
  /**
   * Up to 16 facts for handlers, such as a user and a tenant. Names are lower-case letters, digits, `_`, `.` and `-`,
   * at most 32. Values are text of at most 128 characters. Facts can be searched for, so they are never encrypted.
   * Nobody checks these facts. A handler that acts with a user's rights has to verify the user by itself. @default none
   */
  metadata?: Record<string, string>;
  /**
   * The budget of the turn, its child turns included. `time` is in milliseconds. It can make the agent's own budget
   * smaller, never larger. @default that of the agent
   */
  budget?: Omit<Budget, 'currency'>;
  /**
   * The order in a task queue with a backlog, as in Temporal: `priorityKey` from 1 (first) to 5 by default, and a
   * `fairnessKey`, such as a tenant, of at most 64 bytes, with a `fairnessWeight` from 0.001 to 1000. Child turns
   * inherit it. A call that a person decided always has key 1. Fairness works only on a server that has it on; `countersign doctor` says whether it is.
   * @default the server's, key 3
   */
  priority?: Priority;
}

/** Options for following a turn or a session. */
export interface FollowOptions {
  /** Ends the following. Nothing is thrown in that case. */
  signal?: AbortSignal;
  /** Called whenever all events so far were given, before the wait for more. Not called for a turn that has ended. */
  onCaughtUp?: () => void;
}

/** Which items of the inbox are wanted. */
export interface InboxQuery {
  tool?: string;
  agent?: string;
  /** Only items that have waited for longer than this, in milliseconds. */
  olderThanMs?: number;
  /**
   * Only items that this person may decide and has not voted on. The function is called for each look, because the file
   * may change.
   */
  whom?: () => Whom;
  /** @default 100 */
  limit?: number;
}
