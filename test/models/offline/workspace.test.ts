import { mkdtemp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ModelMessage } from '../../../src/models/model';
import { offlineModel } from '../../../src/models/offline/offline-model';
import { formatResult } from '../../../src/tools/format-result';
import { makeContext } from '../../../src/tools/context';
import type { Tool } from '../../../src/tools/types';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { requestOf } from './talk';

const FILES = {
  'README.md': 'A colour picker.\nEach colour has a name.\n',
  'src/pick.ts': "export const colour = 'red';\n",
  'src/other.ts': 'export const shade = 1;\n',
};

let root: string;
let tools: Map<string, Tool>;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'countersign-offline-'));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  tools = new Map(createWorkspaceTools({ root }).map((tool) => [tool.name, tool]));
});
afterEach(() => rm(root, { recursive: true }));

const onDisk = (path: string) => readFile(join(root, path), 'utf8');

/** Lets the model work with the real tools, all of it approved; gives the answer and the tools that ran. */
async function work(words: string): Promise<{ answer: string; used: string[] }> {
  const messages: ModelMessage[] = [{ role: 'user', content: words }];
  const used: string[] = [];
  for (;;) {
    const { text, toolCalls } = await offlineModel().generate(requestOf(messages, [...tools.keys()]));
    if (toolCalls.length === 0) return { answer: text, used };
    messages.push({ role: 'assistant', content: text, toolCalls });
    for (const { id = '', name, arguments: raw } of toolCalls) {
      used.push(name);
      messages.push({ role: 'tool', toolCallId: id, toolName: name, content: await execute(name, raw) });
    }
  }
}

async function execute(name: string, raw: string): Promise<string> {
  const tool = tools.get(name);
  const parsed = tool?.parse(JSON.parse(raw));
  if (tool === undefined || parsed === undefined || !parsed.ok)
    throw new Error(`${name} does not take ${raw}`);
  const { signal } = new AbortController();
  const context = makeContext({ callId: '1.1', tool: name, idempotencyKey: 'key' }, {}, { signal });
  try {
    return formatResult(await tool.handle(parsed.value, context)).content;
  } catch (error) {
    return `Error [tool]: ${error instanceof Error ? error.message : String(error)}`;
  }
}

it('replaces text in all files, and only there', async () => {
  const { answer, used } = await work("replace 'colour' with 'color' in all files");
  expect(used).toEqual(['search_files', 'read_file', 'read_file', 'edit_file', 'edit_file']);
  expect(await onDisk('README.md')).toBe('A color picker.\nEach color has a name.\n');
  expect(await onDisk('src/pick.ts')).toBe("export const color = 'red';\n");
  expect(await onDisk('src/other.ts')).toBe(FILES['src/other.ts']);
  expect(answer).toContain('an edit was made in 2 of 2 files');
});

it('replaces text below one folder', async () => {
  await work("replace 'colour' with 'color' in files under src");
  expect(await onDisk('README.md')).toBe(FILES['README.md']);
  expect(await onDisk('src/pick.ts')).toBe("export const color = 'red';\n");
});

it('works through a list of requests', async () => {
  const words = [
    "create notes/a.txt with content 'first'",
    "insert 'zeroth' at line 1 of notes/a.txt",
    'move notes/a.txt to b.txt',
    "write 'done' to c.txt",
    'delete src/other.ts',
    'list src',
    'show tree',
    'info about b.txt',
  ];
  await mkdir(join(root, 'notes'));
  const { answer } = await work(words.join('\n'));
  expect(answer).not.toContain('not done');
  expect(await onDisk('b.txt')).toBe('zeroth\nfirst');
  expect(await onDisk('c.txt')).toBe('done');
  expect(await readdir(join(root, 'src'))).toEqual(['pick.ts']);
});

it.each([
  ['search for shade', 'src/other.ts:1'],
  ['search for colour in src', 'src/pick.ts:1'],
  ['search for name in README.md', 'README.md:2'],
  ['search for nothing like it', 'No file has'],
  ['read README.md', 'A colour picker.'],
  ['read missing.md', 'not done'],
  ['read ../outside.txt', 'not done'],
  ['create README.md', 'exists'],
  ["replace 'absent' with 'x'", 'no file contains'],
])('%s → %s', async (words, told) => {
  expect((await work(words)).answer).toContain(told);
});
