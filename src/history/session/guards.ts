import { z } from 'zod';
import { messageGuard } from '../../contract/schema/message';
import {
  type MessageTaken,
  SESSION_CONTROL,
  SESSION_MESSAGE,
  SESSION_REFUSALS,
  SESSION_STATES,
  type SessionInput,
  type SessionMemo,
} from '../../contract/session';
import { budget, files, zodGuard, message, spent } from '../fold/guards';

const string = z.string();

const heldMessage = z.object({
  messageId: string,
  text: string,
  files: files.optional(),
  mode: string,
  sender: string.optional(),
  at: string,
});
const turnMemory = z.object({
  turn: string,
  status: string,
  messageId: string,
  took: z.array(string),
  entries: z.array(message),
});
const spending = z.object({ budget, isSet: z.boolean(), spent });
const summary = z.object({
  text: string,
  turns: z.number(),
  leftOut: z.number().optional(),
  model: string.optional(),
});

/** Guards over what the histories and memos of sessions hold. */
export const sessionIs = {
  input: zodGuard<SessionInput>(
    z.object({
      agent: string,
      budget: budget.optional(),
      carried: z
        .object({
          memory: z.array(turnMemory),
          waiting: z.array(heldMessage),
          summary: summary.optional(),
          spending: spending.optional(),
        })
        .optional(),
    }),
  ),
  message: messageGuard(SESSION_MESSAGE),
  taken: zodGuard<MessageTaken>(
    z.object({ accepted: z.literal(true), messageId: string, outcome: string, at: string }),
  ),
  memo: zodGuard<SessionMemo>(
    z.object({
      agent: string,
      state: z.enum(SESSION_STATES),
      turns: z.number(),
      turn: string.optional(),
      waiting: z.number(),
      text: string,
      refused: z.array(z.object({ messageId: string.optional(), code: z.enum(SESSION_REFUSALS) })).optional(),
    }),
  ),
  control: messageGuard(SESSION_CONTROL),
};
