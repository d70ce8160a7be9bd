import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { offlineModel } from '../../../src/models/offline/offline-model';
import type { ModelMessage } from '../../../src/models/model';
import { createExecutor } from '../../../src/tools/executor';
import { createRegistry } from '../../../src/tools/registry';
import { createShellTools } from '../../../src/tools/shell-tools';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { requestOf } from '../../models/offline/talk';
import { scratchDirectory } from '../../support/scratch';

const root = scratchDirectory();

beforeEach(() => {
  mkdirSync(join(root(), 'docs'));
  const files = {
    'a.txt': 'one colour\ntwo colours\n',
    'docs/b.md': 'no colour\r\n',
    'README.md': 'hello\n',
    'docs/README.md': 'hello\n',
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root(), path), text);
});

/** The offline planner over the real packs, every request approved, until it answers. */
async function ask(words: string): Promise<string> {
  const tools = [...createWorkspaceTools({ root: root() }), ...createShellTools({ root: root() })];
  const { execute } = createExecutor({ registry: createRegistry(tools) });
  const messages: ModelMessage[] = [{ role: 'user', content: words }];
  for (;;) {
    const request = requestOf(
      messages,
      tools.map(({ name }) => name),
    );
    const { text, toolCalls } = await offlineModel().generate(request);
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
    "replace 'colour' with 'color' in all files then read a.txt, docs/b.md",
    ['made in 2 of 2 files', 'two colors', 'no color'],
  ],
  ["replace 'colour' with 'color' in a.txt", ['made in 1 of 1 files', 'Wrote a.txt (21 bytes)']],
  ['list files', ['README.md', 'a.txt', 'docs/']],
  ['show tree', ['docs/', 'b.md']],
  ['read docs/b.md', ['no colour']],
  ['info about a.txt', ['"size": 23', '"lines": 2']],
  ["search for 'two'", ['a.txt:2: two colours']],
  ["search for 'hello' in README.md", ['  README.md:1: hello']],
  ["search for 'zzz'", ['No file has "zzz"']],
  [
    "create new/notes.txt with content 'hi' then read new/notes.txt",
    ['Wrote new/notes.txt (2 bytes)', '  hi'],
  ],
  ["write 'hi' to a.txt then read a.txt", ['  hi']],
  ["insert 'zero' at line 1 of a.txt then read a.txt", ['  zero\n  one colour']],
  ['move a.txt to docs/c.txt then read docs/c.txt', ['Moved a.txt to docs/c.txt', 'one colour']],
  ['delete a.txt then read a.txt', ['Deleted a.txt', 'not done']],
  ['run cat a.txt', ['two colours']],
  ['run false then list files', ['not done', 'exit code 1', 'Not tried']],
])('%s', async (words, parts) => {
  const answer = await ask(words);
  for (const part of parts) expect(answer).toContain(part);
});

it('searches in one file where one is named', async () => {
  expect(await ask("search for 'hello' in README.md")).not.toContain('docs/README.md');
});
