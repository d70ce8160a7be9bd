import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { shellWord, type Context } from '../context';
import { projectFiles } from '../init/template';
import { assertEmpty, writeFiles } from '../init/write';

/** `init [directory]`. */
export function addInit(program: Command, context: Context): void {
  program
    .command('init [directory]')
    .description('write a small project that works at once: agent, config, test, scripts')
    .option('--json', 'print the names of the files as JSON')
    .action((directory: string | undefined, { json = false }: { json?: boolean }) =>
      init(directory ?? '.', json, context),
    );
}

async function init(named: string, json: boolean, { screen }: Context): Promise<void> {
  const directory = resolve(named);
  await assertEmpty(directory, named === '.' ? 'this directory' : named);
  const files = projectFiles(directory);
  await writeFiles(directory, files);
  const paths = files.map(({ path }) => path);
  if (json) return screen.json({ directory, files: paths });
  const { good, link } = screen.style;
  const there = relative(process.cwd(), directory);
  const steps = ['npm install', 'npm test', 'npm start'];
  screen.lines([
    good(`wrote ${paths.length} files to ${named}`),
    ...paths.map((path) => `  ${path}`),
    '',
    'Next:',
    ...[...(there === '' ? [] : [`cd ${shellWord(there)}`]), ...steps].map((step) => `  ${link(step)}`),
  ]);
}
