import type { Client, ConnectionLike } from '@temporalio/client';
import type { HistorySource } from '../history/read';
import type { FileStore } from '../store';
import type { Outbox } from './outbox';
import type { StreamPlace } from './types';
import type { VisibilityLimit } from './visibility';

/** What every operation of the client works with. */
export interface ClientContext {
  client: Client;
  /** Lists turns: what cannot be decoded of one must not hide the others. */
  lister: Client;
  /** As `lister`, for the one who reads the inbox again and again: a call that the server refuses for its limit fails at once. */
  reader: Client;
  /** What all calls to visibility go through. */
  limit: VisibilityLimit;
  connection: ConnectionLike;
  namespace: string;
  source: HistorySource;
  /** Decisions and resolutions go through it. */
  outbox: Outbox;
  /** The store of files that go with messages; undefined: none is named. @throws CountersignError `config_invalid`. */
  files(): FileStore | undefined;
  /** Where what models write comes from; undefined: from heartbeats. */
  stream: StreamPlace | undefined;
  /** How long `start` waits for missing search attributes, in milliseconds. */
  readyMs: number;
}
