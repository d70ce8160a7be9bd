import type { ApiError } from '../../server/api';
import { errorWords } from './error-words';

/** Whether the desk's events come in. */
export type Connection = 'connecting' | 'live' | 'lost';

/** How it stands with the desk and with the Temporal server behind it. */
export interface Standing {
  /** `lost`: what is shown may be old. */
  state: Connection;
  words: string;
  /** More about it. */
  title: string;
}

const WORDS = { connecting: 'connecting', live: 'live', lost: 'connection lost, trying again' } as const;

/** The desk may answer while the Temporal server does not: then what it shows is as old as with no desk. */
export function standingOf(connection: Connection, trouble: ApiError | undefined): Standing {
  const words = WORDS[connection];
  if (connection !== 'live' || trouble === undefined) return { state: connection, words, title: words };
  return {
    state: 'lost',
    words: trouble.code === 'no_server' ? 'no Temporal server, trying again' : 'the inbox cannot be read',
    title: errorWords(trouble),
  };
}
