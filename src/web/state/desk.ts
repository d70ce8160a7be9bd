import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ApiError, InboxItem } from '../../server/api';
import type { LiveInbox } from '../api/use-inbox';
import type { Route } from '../model/route';

/** One line told to the person, with a place to go to. */
export interface Notice {
  text: string;
  tone: 'good' | 'bad' | 'quiet';
  to?: { label: string; route: Route };
}

/** What every part of the page can use. */
export interface Desk {
  inbox: LiveInbox;
  /** Shows a notice and has it read out. */
  tell(notice: Notice): void;
  /** Tells a failure; a session that ended leads to the sign-in. */
  fail(status: number, error: ApiError): void;
}

export const DeskContext = createContext<Desk | undefined>(undefined);

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new Error('there is no desk around this part');
  return desk;
}

/** The inbox's line of a call, while it waits. */
export function itemOf({ snapshot }: LiveInbox, turn: string, callId: string): InboxItem | undefined {
  return snapshot?.items.find((item) => item.turn === turn && item.callId === callId);
}
