import { appendFile } from 'node:fs/promises';
import { createWorkspaceTools, defineAgent, defineTool, type Agent, type Model } from 'countersign';
import { z } from 'zod';

/** Dangerous: waits until a person approves it, changes its arguments, or says no. */
const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail to a customer.',
  parameters: z.object({ to: z.email(), text: z.string().min(1).max(2000) }),
  safety: 'dangerous',
  handler: async ({ to, text }) => {
    // Put your mail service here; until then every mail is a line of this file.
    await appendFile('outbox.txt', `${to}: ${text}\n`);
    return `sent to ${to}`;
  },
});

/** The agent with a model of your choice; tests give it one that follows a script. */
export const makeClerk = (model: Model): Agent =>
  defineAgent({
    name: 'clerk',
    instructions: 'You keep the files of a small company. Look before you change anything.',
    model,
    // Reading is safe; everything that writes is dangerous. Nothing outside files/ can be reached.
    tools: [...createWorkspaceTools({ root: 'files' }), sendMail],
  });
