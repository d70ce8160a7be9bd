/** The agents of the compose file's workers: one clerk who keeps the files of the `workspace` volume. */
import { createWorkspaceTools, defineAgent, defineConfig, offlineModel, openaiCompatible } from 'countersign';

const { MODEL, MODEL_URL = 'https://api.openai.com/v1', WORKSPACE = '.' } = process.env;

const clerk = defineAgent({
  name: 'clerk',
  instructions: 'You keep the files of a small company. Look before you change anything.',
  // Without MODEL the offline model: fixed rules for plain requests, enough to see a turn.
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : offlineModel(),
  tools: createWorkspaceTools({ root: WORKSPACE }),
});

export default defineConfig({ agents: [clerk] });
