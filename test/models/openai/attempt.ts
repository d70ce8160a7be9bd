import { inspect } from 'node:util';
import { ModelError, type ModelReply, type ModelRequest } from '../../../src/models/model';
import { openaiCompatible, type OpenAICompatibleOptions } from '../../../src/models/openai-compatible';
import { requestOf, type Answer, type FakeServer } from './server';

/** The key of every model made here. */
export const KEY = 'sk-very-secret-key-0123456789';

/** What one attempt is made of. */
export interface Attempt {
  server: FakeServer;
  answer: Answer;
  options?: Partial<OpenAICompatibleOptions>;
  request?: Partial<ModelRequest>;
}

/** What the model answers when the server answers so. */
export function generate({ server, answer, options = {}, request = {} }: Attempt): Promise<ModelReply> {
  server.answer = answer;
  const model = openaiCompatible({
    baseUrl: server.baseUrl,
    model: 'm',
    apiKey: KEY,
    id: 'test/m',
    ...options,
  });
  return model.generate(requestOf(request));
}

/** What it throws, which has to be a ModelError that shows no key. */
export async function failure(attempt: Attempt): Promise<ModelError> {
  const error: unknown = await generate(attempt).then(
    (reply) => expect(reply).toBe('an error'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ModelError)) throw new Error(`no ModelError: ${inspect(error)}`);
  const shown =
    inspect(error, { depth: null, showHidden: true }) + String(error.stack) + JSON.stringify(error);
  expect(shown).not.toContain(KEY);
  expect(error.message).toMatch(/^test\/m: /);
  return error;
}
