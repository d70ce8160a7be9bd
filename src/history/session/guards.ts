import { ORIGIN } from '../../contract/call';
import { guard } from '../../contract/schema/message';
import { anything, flag, list, object, oneOf, type Shape, text } from '../../contract/schema/shape';
import {
  type HeldMessage,
  MESSAGE_TAKEN,
  SESSION_CONTROL,
  SESSION_MEMO,
  SESSION_MESSAGE,
  SUMMARY,
} from '../../contract/session';
import { FILES } from '../../contract/session/files';
import { BUDGET } from '../../contract/spending/budget';
import { SPENDING } from '../../contract/spending/carried';
import { MODES, TURN_ENDS } from '../../contract/turn-states';

const TEXT = text();

const HELD_MESSAGE: Shape<HeldMessage> = object(
  { messageId: TEXT, text: TEXT, mode: oneOf(MODES), at: TEXT },
  { files: FILES, sender: TEXT },
);
const TURN_MEMORY = object({
  turn: TEXT,
  status: oneOf(TURN_ENDS),
  messageId: TEXT,
  took: list(TEXT),
  entries: list(anything()),
});
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
  message: guard(SESSION_MESSAGE),
  taken: guard(MESSAGE_TAKEN),
  memo: guard(SESSION_MEMO),
  control: guard(SESSION_CONTROL),
};
