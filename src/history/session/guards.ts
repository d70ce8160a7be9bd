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

const heldMessage = z.object({
  messageId: z.string(),
  text: z.string(),
  files: files.optional(),
  mode: z.string(),
  sender: z.string().optional(),
  at: z.string(),
});
const turnMemory = z.object({
  turn: z.string(),
  status: z.string(),
  messageId: z.string(),
  took: z.array(z.string()),
  entries: z.array(message),
});
const spending = z.object({ budget, isSet: z.boolean(), spent });
const summary = z.object({
  text: z.string(),
  turns: z.number(),
  leftOut: z.number().optional(),
  model: z.string().optional(),
});

/** Guards over what the histories and memos of sessions hold. */
export const sessionIs = {
  input: zodGuard<SessionInput>(
    z.object({
      agent: z.string(),
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
    z.object({ accepted: z.literal(true), messageId: z.string(), outcome: z.string(), at: z.string() }),
  ),
  memo: zodGuard<SessionMemo>(
    z.object({
      agent: z.string(),
      state: z.enum(SESSION_STATES),
      turns: z.number(),
      turn: z.string().optional(),
      waiting: z.number(),
      text: z.string(),
      refused: z
        .array(z.object({ messageId: z.string().optional(), code: z.enum(SESSION_REFUSALS) }))
        .optional(),
    }),
  ),
  control: messageGuard(SESSION_CONTROL),
};
