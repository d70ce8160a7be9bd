import { z } from 'zod';
import {
  type MessageTaken,
  SESSION_STATES,
  type SessionControl,
  type SessionInput,
  type SessionMemo,
  type SessionMessage,
} from '../../contract/session';
import { budget, guard, message, spent } from '../fold/guards';

const said = z.object({
  messageId: z.string(),
  text: z.string(),
  mode: z.string(),
  sender: z.string().optional(),
});
const heldMessage = said.extend({ at: z.string() });
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
  input: guard<SessionInput>(
    z.object({
      agent: z.string(),
      budget: budget.optional(),
      carried: z
        .object({
          ...{ memory: z.array(turnMemory), waiting: z.array(heldMessage) },
          ...{ summary: summary.optional(), spending: spending.optional() },
        })
        .optional(),
    }),
  ),
  message: guard<SessionMessage>(said),
  taken: guard<MessageTaken>(
    z.object({ accepted: z.literal(true), messageId: z.string(), outcome: z.string(), at: z.string() }),
  ),
  memo: guard<SessionMemo>(
    z.object({
      agent: z.string(),
      state: z.enum(SESSION_STATES),
      turns: z.number(),
      turn: z.string().optional(),
      waiting: z.number(),
      text: z.string(),
    }),
  ),
  control: guard<SessionControl>(
    z.object({ action: z.string(), sender: z.string().optional(), reason: z.string().optional() }),
  ),
};
