import { MEMO, UPDATES } from '../../contract/names';
import { SESSION_REFUSALS, type SessionControl, type SessionRefusal } from '../../contract/session';
import type { DecodedEvent } from '../decode/events';
import { sessionIs } from './guards';
import type { KeptTurns } from './kept-turns';

/**
 * The session refused a message that is on record. The message came by signal, or together with other messages that
 * left no room for it.
 */
export interface MessageRefused {
  type: 'message_refused';
  eventId: number;
  /** ISO 8601. */
  at: string;
  messageId: string;
  code: SessionRefusal;
}

/** Somebody paused, resumed, compacted or closed the session, or cancelled its turn. */
export interface SessionControlled {
  type: 'control';
  /** The history event in the session's run. */
  eventId: number;
  /** ISO 8601. */
  at: string;
  action: SessionControl['action'];
  cancel?: true;
  sender?: string;
  reason?: string;
  /** Why the session refused to do it, if the control came by signal. */
  refused?: SessionRefusal;
}

type Refused = Pick<MessageRefused, 'messageId' | 'code'>;

/**
 * Finds the messages that a run refused. The memo names each refused message that came by signal. A message that its
 * validator let through and its handler then refused has an update that fails.
 */
export class Refusals {
  private readonly updates = new Map<string, string>();
  private noted = '';

  /** A run begins. */
  begin(): void {
    this.updates.clear();
    this.noted = '';
  }

  /**
   * The refusal that an event shows. Undefined if it shows none. It must be called with the events of a run in
   * order.
   */
  of(event: DecodedEvent): MessageRefused | undefined {
    const { eventId, at } = event;
    const refused = this.refusedBy(event);
    return refused && { type: 'message_refused', eventId, at, ...refused };
  }

  private refusedBy(event: DecodedEvent): Refused | undefined {
    if (event.kind === 'memo') return this.newest(event.fields[MEMO.session]);
    if (event.kind === 'update_accepted' && event.name === UPDATES.send && sessionIs.message(event.input))
      this.updates.set(event.updateId, event.input.messageId);
    if (event.kind !== 'update_completed' || event.failure === undefined) return undefined;
    const messageId = this.updates.get(event.updateId);
    const { type } = event.failure;
    const code = SESSION_REFUSALS.find((one) => one === type);
    return messageId === undefined || code === undefined ? undefined : { messageId, code };
  }

  /** The refusal that a memo adds. The session adds them one at a time, at the end of the list. */
  private newest(memo: unknown): Refused | undefined {
    const list = sessionIs.memo(memo) ? (memo.refused ?? []) : [];
    const text = JSON.stringify(list);
    const last = text === this.noted ? undefined : list.at(-1);
    this.noted = text;
    return last?.messageId === undefined ? undefined : { messageId: last.messageId, code: last.code };
  }
}

/**
 * Reads what somebody did with a session. Undefined if the input cannot be read.
 * @param kept Only for a control by signal, because an update that is refused is not on record.
 */
export function controlOf(
  head: Pick<SessionControlled, 'eventId' | 'at'>,
  input: unknown,
  kept?: KeptTurns,
): SessionControlled | undefined {
  if (!sessionIs.control(input)) return undefined;
  const { action, cancel, sender, reason } = input;
  const refused = kept?.refuses(action);
  return { type: 'control', ...head, action, cancel, sender, reason, refused };
}
