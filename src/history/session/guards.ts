import { ORIGIN } from '../../contract/call';
import { guard, messageGuard } from '../../contract/schema/message';
import {
  anything,
  flag,
  list,
  number,
  object,
  oneOf,
  only,
  type Shape,
  text,
} from '../../contract/schema/shape';
import {
  type ConversationSummary,
  type HeldMessage,
  type MessageTaken,
  SESSION_CONTROL,
  SESSION_MESSAGE,
  SESSION_REFUSALS,
  SESSION_STATES,
  type SessionMemo,
} from '../../contract/session';
import { FILES_SHAPE } from '../../contract/session/files';
import { BUDGET } from '../../contract/spending/budget';
import { SPENDING } from '../../contract/spending/carried';
import { MODES, TURN_ENDS } from '../../contract/turn-states';

const TEXT = text();
const NUMBER = number();

const HELD_MESSAGE: Shape<HeldMessage> = object(
  { messageId: TEXT, text: TEXT, mode: oneOf(MODES), at: TEXT },
  { files: FILES_SHAPE, sender: TEXT },
);
const TURN_MEMORY = object({
  turn: TEXT,
  status: oneOf(TURN_ENDS),
  messageId: TEXT,
  took: list(TEXT),
  entries: list(anything()),
});
const SUMMARY: Shape<ConversationSummary> = object(
  { text: TEXT, turns: NUMBER },
  { leftOut: NUMBER, model: TEXT },
);
const TAKEN: Shape<MessageTaken> = object(
  {
    accepted: only(true),
    messageId: TEXT,
    outcome: oneOf(['started', 'queued', 'steering', 'interrupting']),
    at: TEXT,
  },
  { repeated: only(true) },
);
const MEMO: Shape<SessionMemo> = object(
  { agent: TEXT, state: oneOf(SESSION_STATES), turns: NUMBER, waiting: NUMBER, text: TEXT },
  {
    turn: TEXT,
    cancelling: only(true),
    refused: list(object({ code: oneOf(SESSION_REFUSALS) }, { messageId: TEXT })),
  },
);

/** Guards over what the histories and memos of sessions hold. */
export const sessionIs = {
  input: guard(
    object(
      { agent: TEXT },
      {
        origin: ORIGIN,
        budget: BUDGET,
        carried: object(
          { memory: list(TURN_MEMORY), waiting: list(HELD_MESSAGE) },
          { summary: SUMMARY, spending: SPENDING, paused: flag() },
        ),
      },
    ),
  ),
  message: messageGuard(SESSION_MESSAGE),
  taken: guard(TAKEN),
  memo: guard(MEMO),
  control: messageGuard(SESSION_CONTROL),
};
