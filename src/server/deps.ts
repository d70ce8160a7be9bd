import type { Countersign } from '../client/types';
import type { Authenticator } from './auth/authenticator';
import type { Oidc } from './auth/oidc';
import type { FormatError } from './failure';
import type { Hosts } from './address';
import type { SentFiles } from './files';
import type { InboxFeed } from './inbox-feed';
import type { DecidedReader } from './decided-reader';
import type { RefusalLog } from './refusal-log';
import type { InboxSigner } from './signer';
import type { StatsReader } from './stats-reader';
import type { TextStore } from './streamed-text';

/** What the app works with. */
export interface AppDeps {
  client: Countersign;
  authenticator: Authenticator;
  /** The issuer at which people may sign in; undefined: there is none. */
  oidc: Oidc | undefined;
  /** By what it signs that an approver was signed in. Undefined: it signs nothing. */
  signer: InboxSigner | undefined;
  hosts: Hosts;
  feed: InboxFeed;
  stats: StatsReader;
  refusals: RefusalLog;
  decided: DecidedReader;
  texts: TextStore;
  /** The files that go with messages; undefined: there is no store for them. */
  files: SentFiles | undefined;
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
