import { createWorkspaceTools, defineAgent, defineTool, offlineModel, openaiCompatible } from 'countersign';
import { z } from 'zod';

const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail to a customer.',
  parameters: z.object({ to: z.email(), text: z.string().min(1) }),
  safety: 'dangerous', // waits until a person approves, edits or denies it
  handler: async ({ to, text }) => `sent ${text.length} characters to ${to}`,
});

const { MODEL, MODEL_URL = 'https://api.openai.com/v1', WORKSPACE = '.' } = process.env;

export default defineAgent({
  name: 'clerk',
  instructions: 'You keep the files of a small company. Look before you change anything.',
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : offlineModel(),
  tools: [...createWorkspaceTools({ root: WORKSPACE }), sendMail],
});
