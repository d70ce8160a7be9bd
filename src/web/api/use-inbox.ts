import { useEffect, useState } from 'preact/hooks';
import type { ApiError, InboxSnapshot } from '../../server/api';
import { readSession } from './http';
import type { Connection } from '../model/connection';
import { listenShared } from './shared';

export interface LiveInbox {
  /** Undefined until the first has come. */
  snapshot: InboxSnapshot | undefined;
  connection: Connection;
  /** Why the desk cannot read the inbox at the moment; undefined where it can. */
  trouble: ApiError | undefined;
}

/**
 * The inbox as it is now, while `isOpen`. Each message is the whole, so what was missed while the connection was down
 * does not matter.
 */
export function useInbox(isOpen: boolean, signedOut: () => void): LiveInbox {
  const [snapshot, setSnapshot] = useState<InboxSnapshot>();
  const [trouble, setTrouble] = useState<ApiError>();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => {
    if (!isOpen) return;
    return listenShared('/api/inbox/events', 'inbox', {
      message: (data) => {
        setTrouble(undefined);
        setSnapshot(JSON.parse(data));
      },
      trouble: (data) => setTrouble(JSON.parse(data)),
      connection: (state) => {
        setConnection(state);
        if (state === 'lost') void checkSession(signedOut);
      },
    });
  }, [isOpen, signedOut]);
  return { snapshot, connection, trouble };
}

/** A stream that is refused for want of a session looks to the page like any broken one. */
async function checkSession(signedOut: () => void): Promise<void> {
  const session = await readSession();
  if (!session.ok && session.status === 401) signedOut();
}
