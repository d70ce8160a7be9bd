import type { Countersign } from '../client/types';
import type { Door } from './auth/door';
import type { Tell } from './failure';
import type { Hosts } from './guard/hosts';
import type { InboxFeed } from './inbox/feed';
import type { RefusalLog } from './refusals/log';
import type { StatsReader } from './stats/reader';

/** What the app works with. */
export interface AppDeps {
  desk: Countersign;
  door: Door;
  hosts: Hosts;
  feed: InboxFeed;
  stats: StatsReader;
  refusals: RefusalLog;
  /** Folder of the built page. */
  pageDir: string;
  version: string;
  tell: Tell;
  /** Ends every stream. */
  closing: AbortSignal;
}
