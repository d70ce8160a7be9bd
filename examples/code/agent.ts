import { join } from 'node:path';
import { createCodeTools, defineAgent, offlineModel, openaiCompatible } from 'countersign';

// If you name no project, it answers questions about Countersign itself.
const { MODEL, MODEL_URL = 'https://api.openai.com/v1', PROJECT = join(__dirname, '..', '..') } = process.env;

export default defineAgent({
  name: 'reader',
  instructions: `You answer questions about a TypeScript project.
Look a symbol up before you speak of it, and say where it stands as path:line.`,
  // The offline model follows plain words such as `what does the function defineTool do`.
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : offlineModel(),
  // All of them only read, so nobody is asked.
  tools: createCodeTools({ root: PROJECT }),
});
