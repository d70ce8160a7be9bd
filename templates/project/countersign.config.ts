import { offlineModel, openaiCompatible } from 'countersign';
import { makeClerk } from './agent';

// Without MODEL the agent follows plain requests by rules: no key, no network, no language model.
const { MODEL, MODEL_URL = 'https://api.openai.com/v1' } = process.env;

export default makeClerk(
  MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : offlineModel(),
);
