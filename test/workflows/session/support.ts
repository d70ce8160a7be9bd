import { turnIdIn, type SessionMessage } from '../../../src/contract/session';
import { judgeMessage, takeMessage } from '../../../src/workflows/session/queue';
import { endTurn, type SessionMachine } from '../../../src/workflows/session/state';

const AT = '2026-11-23T00:00:00.000Z';
export const turnId = (n: number): string => turnIdIn('s', n);
export const message = (
  messageId: string,
  mode: SessionMessage['mode'] = 'queue',
  text = messageId,
): SessionMessage => {
  return { messageId, text, mode };
};

/** Judges and takes a message; what was refused is returned as its code. */
export const send = (session: SessionMachine, sent: unknown): string => {
  const judged = judgeMessage(session, sent);
  if (judged.kind === 'refuse') return judged.refused.code;
  return judged.kind === 'repeat' ? 'repeat' : takeMessage(session, judged.message, AT).outcome;
};

export const end = (session: SessionMachine, took: string[] = []): void =>
  endTurn(session, { entries: [{ kind: 'words', text: 'x' }], took }, 'answered');
