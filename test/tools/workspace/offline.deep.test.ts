import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { offlineModel } from '../../../src/models/offline';
import type { ModelMessage } from '../../../src/models/model';
import { createExecutor } from '../../../src/tools/executor';
import { createRegistry } from '../../../src/tools/registry';
import { createShellTools } from '../../../src/tools/shell-tools';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { scratchDirectory } from '../../support/scratch';

const root = scratchDirectory();

beforeEach(() => {
  mkdirSync(join(root(), 'docs'));
  const files = {
    'a.txt': 'one colour\ntwo colours\n',
    'docs/b.md': 'no colour\r\n',
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root(), path), text);
});

/** The offline planner over the real packs, every request approved, until it answers. */
async function ask(words: string): Promise<string> {
  const tools = [...createWorkspaceTools({ root: root() }), ...createShellTools({ root: root() })];
  const { execute } = createExecutor({ registry: createRegistry(tools) });
  const messages: ModelMessage[] = [{ role: 'user', content: words }];
  for (;;) {
    const { text, toolCalls } = await offlineModel().generate({
      ...{ instructions: '', messages, signal: new AbortController().signal },
      tools: tools.map(({ name, description }) => {
        return { type: 'function', function: { name, description, parameters: { type: 'object' } } };
      }),
    });
    if (toolCalls.length === 0) return text;
    messages.push({ role: 'assistant', content: text, toolCalls });
    for (const { id = '', name, arguments: args } of toolCalls) {
      const result = await execute(
        { id, name, arguments: args },
        { approve: () => ({ decision: 'approved' }) },
      );
      messages.push({ role: 'tool', toolCallId: id, toolName: name, content: result.content });
    }
  }
}

// The names of the tools, of their arguments and the form of their answers belong to two rooms; here they meet.
it.each([
  [
    "replace 'colour' with 'color' in a.txt then read a.txt",
    ['edit_file a.txt: done.\n  Wrote a.txt (21 bytes)', 'two colors'],
  ],
  ["replace 'absent' with 'x' in a.txt then read a.txt", ['not done', 'Not tried']],
  ['read docs/b.md', ['no colour']],
  ["search for 'two'", ['a.txt:2: two colours']],
  ["search for 'zzz'", ['No file has "zzz"']],
  [
    "create new/notes.txt with content 'hi' then read new/notes.txt",
    ['Wrote new/notes.txt (2 bytes)', '  hi'],
  ],
  ['call delete_file {"path":"a.txt"} then read a.txt', ['Deleted a.txt', 'not done']],
  ['run cat a.txt', ['two colours']],
  ['run false then read a.txt', ['not done', 'exit code 1', 'Not tried']],
])('%s', async (words, parts) => {
  const answer = await ask(words);
  for (const part of parts) expect(answer).toContain(part);
});
