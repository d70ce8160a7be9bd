import type { Client, ConnectionLike } from '@temporalio/client';
import type { HistorySource } from '../history/read';
import type { FileStore } from '../store/stored-file';
import type { KeyedLimiter } from '../contract/job-limiter';
import type { StreamPlace } from '../contract/streamed-text';
import type { VisibilityLimit } from './visibility';

/** The parts that every operation of the client uses. */
export interface ClientContext {
  client: Client;
  /** Lists turns. If a part of one turn cannot be decoded, the other turns are still listed. */
  lister: Client;
  /**
   * Like `lister`, for reading the inbox again and again: a call that the server refuses for its limit fails
   * immediately.
   */
  reader: Client;
  /** The limit that all calls to visibility go through. */
  limit: VisibilityLimit;
  connection: ConnectionLike;
  namespace: string;
  source: HistorySource;
  /** The limit that decisions and resolutions go through, by turn. */
  sendLimit: KeyedLimiter;
  /** The store for the files of messages. Undefined if none is named. @throws CountersignError `config_invalid`. */
  files(): FileStore | undefined;
  /** The web inbox from which streamed text comes. Undefined if it comes from heartbeats. */
  stream: StreamPlace | undefined;
  /** The time that `start` waits for missing search attributes, in milliseconds. */
  readyMs: number;
}
