import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, createLispTools, offlineModel, openaiCompatible } from 'countersign';

const { MODEL, MODEL_URL = 'https://api.openai.com/v1', PROGRAM = '.countersign/shop' } = process.env;

// If you name no program, it works on a copy of the small one in this folder.
if (!existsSync(PROGRAM)) cpSync(join(__dirname, 'shop'), PROGRAM, { recursive: true });
const [source] = [join(PROGRAM, 'shop.lisp')].filter(existsSync);

export default defineAgent({
  name: 'lisper',
  instructions: `You help with a Lisp program that runs. Look a symbol up before you speak of it.
Evaluate a form only where looking does not answer the question, and say what it changes.`,
  // The offline model follows plain words such as `what does the function shop:total do`.
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : offlineModel(),
  // Questions run at once. A form waits for a person, because it could write any file.
  tools: createLispTools({
    root: PROGRAM,
    package: 'common-lisp',
    ...(source === undefined ? {} : { load: [source] }),
  }),
});
