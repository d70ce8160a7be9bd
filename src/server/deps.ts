import type { AwayEntries } from '../client/control/who-is-away';
import type { Countersign } from '../client/types';
import type { FileRef } from '../contract/session/files';
import type { Permit } from '../contract/authority/permits';
import type { Voter } from '../contract/authority/votes';
import type { SentFile } from './api';
import type { Authenticator, Credentials } from './auth/authenticator';
import type { SignedIn } from './auth/sessions';
import type { Oidc } from './auth/oidc';
import type { FormatError } from './failure';
import type { Hosts } from './address';
import type { InboxFeed } from './inbox-feed';
import type { DecidedReader } from './decided-reader';
import type { Push } from './push/store';
import type { RefusalLog } from './refusal-log';
import type { Reader, ReaderOf } from './scoped';
import type { Signers } from './signer';
import type { StatsReader } from './stats-reader';
import type { TextStore } from './streamed-text';

/** The files that people send here for their messages. */
export interface SentFiles {
  /** Keeps a file. @throws CountersignError `usage` for one that no message can have, `file_failed`. */
  put(user: string, file: { name: string; bytes: Uint8Array }): Promise<SentFile>;
  /**
   * What stands for files that this user sent here. Whoever only knows the digest of a file could have a model read it to them.
   *
   * @throws CountersignError `usage` for any other file.
   */
  take(user: string, sent: readonly SentFile[]): FileRef[];
}

/** Who is in which group, by the approvers file of the day. */
export interface VotersFile {
  people: readonly Voter[];
  personOf(name: string): string | undefined;
}

/** What the app works with. */
export interface AppDeps extends Signers {
  /** Only for what is of nobody in particular; turns and conversations are read through `readerOf`. */
  client: Pick<Countersign, 'client' | 'namespace' | 'away'>;
  readerOf: ReaderOf;
  authenticator: Authenticator;
  /** The issuer at which people may sign in; undefined: there is none. */
  oidc: Oidc | undefined;
  hosts: Hosts;
  feed: InboxFeed;
  stats: StatsReader;
  refusals: RefusalLog;
  decided: DecidedReader;
  /** How browsers are notified; undefined: none is. */
  push: Push | undefined;
  texts: TextStore;
  /** The files that go with messages; undefined: there is no store for them. */
  files: SentFiles | undefined;
  /** By which it is known what waits for whom; undefined: there is no approvers file here. */
  voters?: (() => Promise<VotersFile>) | undefined;
  /** Who is away, as it was known a few seconds ago. */
  away: AwayEntries;
  /** What workers and programs prove that they may stream; undefined: none may. */
  streamToken: string | undefined;
  /** Folder of the built page. */
  pageDir: string;
  version: string;
  /** As `Session.undoMs`. */
  undoMs: number;
  formatError: FormatError;
  /** Ends every stream. */
  closing: AbortSignal;
}

/** What a signed-in request carries. */
export type Env = {
  Variables: {
    who: SignedIn;
    credentials: Credentials;
    permit: Permit;
    /** All that may be read and done of turns and conversations here: what the sender sees. */
    reader: Reader;
  };
};
