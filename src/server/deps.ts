import type { Countersign } from '../client/countersign';
import type { FileRef } from '../contract/session/files';
import type { Permit } from '../authority/rules/permits';
import type { SentFile } from './api';
import type { Authenticator, Credentials } from './auth/authenticator';
import type { createHosts } from './auth/origin';
import type { SignedIn } from './auth/sessions';
import type { Oidc } from './auth/oidc';
import type { FormatError } from './failure';
import type { InboxFeed } from './inbox-feed';
import type { DecidedReader } from './reading/decided-reader';
import type { Push } from './push/store';
import type { RefusalLog } from './refusal-log';
import type { Reader, createReaders } from './visible-turns';
import type { ShownCalls } from './shown-calls';
import type { Signers } from './signer';
import type { StatsReader } from './reading/stats-reader';
import type { TextStore } from './streamed-text';
import type { Voter } from '../contract/authority';

/** The files that people send to this web inbox for their messages. */
export interface SentFiles {
  /** Stores a file. @throws CountersignError `usage` for a file that messages cannot have, `file_failed`. */
  put(user: string, file: { name: string; bytes: Uint8Array }): Promise<SentFile>;
  /**
   * The references to files that this user sent here. Without the proof, anybody who knows the digest of a file could
   * let a model read the file to them.
   *
   * @throws CountersignError `usage` for any other file.
   */
  take(user: string, sent: readonly SentFile[]): FileRef[];
}

/** The people of today's approvers file, with their groups. */
export interface VotersFile {
  people: readonly Voter[];
  personOf(name: string): string | undefined;
  /** What a person may do and see. Absent: everybody may do everything. */
  permitOf?(name: string): Permit;
}

/** How pages of a product use the conversations here. */
interface OwnPageOptions {
  /** The origins of such pages, such as `https://shop.example.com`. */
  allowOrigins?: readonly string[];
  /** The address of the web inbox in links. @default the address that the request names */
  publicUrl?: string;
  /** The time for which a look at which nothing is new is held, in milliseconds. @default 25000 */
  holdMs?: number;
}

/** The parts that the app works with. */
export interface AppDeps extends Signers {
  /** Only for data that does not belong to one person. Turns and conversations are read through `readerOf`. */
  client: Pick<Countersign, 'client' | 'namespace' | 'pause' | 'resume'>;
  readerOf: ReturnType<typeof createReaders>;
  authenticator: Authenticator;
  /** The issuer at which people may sign in. Undefined: there is none. */
  oidc: Oidc | undefined;
  hosts: ReturnType<typeof createHosts>;
  feed: InboxFeed;
  stats: StatsReader;
  refusals: RefusalLog;
  shown: ShownCalls;
  decided: DecidedReader;
  /** The way in which browsers are notified. Undefined: no browser is. */
  push: Push | undefined;
  texts: TextStore;
  /** The files of messages. Undefined: this web inbox does not have a file store. */
  files: SentFiles | undefined;
  /**
   * The approvers file, which says which requests wait for which person. Undefined: this web inbox has no such file.
   */
  voters?: () => Promise<VotersFile>;
  /** The token with which workers and programs may stream. Undefined: workers and programs may not stream. */
  streamToken: string | undefined;
  /** The path under which browsers reach the web inbox, such as `/countersign`. Empty: at the root of its host. */
  basePath: string;
  /** Folder of the built page. */
  pageDir: string;
  version: string;
  /** See `Session.undoMs`. */
  undoMs: number;
  formatError: FormatError;
  /** How other pages may use the conversations here. @default no page of another origin may */
  ownPage?: OwnPageOptions;
  /** Ends every stream. */
  closing: AbortSignal;
}

/** The variables of a signed-in request. */
export type Env = {
  Variables: {
    /** See `AppDeps`. */
    basePath: string;
    who: SignedIn;
    credentials: Credentials;
    permit: Permit;
    /** Reads and acts on the turns and conversations that the sender may see. */
    reader: Reader;
  };
};
