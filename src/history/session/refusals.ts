import { MEMO, UPDATES } from '../../contract/names';
import { SESSION_REFUSALS, type SessionRefusal } from '../../contract/session';
import type { DecodedEvent } from '../decode/events';
import { sessionIs } from './guards';

/** The session did not take a message that is on record: it came by signal, or more came with it than there was room for. */
export interface MessageRefused {
  type: 'message_refused';
  eventId: number;
  /** ISO 8601. */
  at: string;
  messageId: string;
  code: SessionRefusal;
}

type Refused = Pick<MessageRefused, 'messageId' | 'code'>;

/** Finds what a run refused: the memo names each signal, and a message by update that came too late for its check fails. */
export class Refusals {
  private readonly updates = new Map<string, string>();
  private noted = '';

  /** A run begins. */
  begin(): void {
    this.updates.clear();
    this.noted = '';
  }

  /** What this event refuses; the events of a run in their order. */
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

  /** Each refusal is written by itself, at the end of the list. */
  private newest(memo: unknown): Refused | undefined {
    const list = sessionIs.memo(memo) ? (memo.refused ?? []) : [];
    const text = JSON.stringify(list);
    const last = text === this.noted ? undefined : list.at(-1);
    this.noted = text;
    return last?.messageId === undefined ? undefined : { messageId: last.messageId, code: last.code };
  }
}
