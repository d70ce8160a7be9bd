import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { shellWord } from '../../contract/text/shell-word';
import type { Context } from '../context';
import { CountersignError, errnoOf } from '../../contract/errors';
import { fileReason } from '../files';
import { manifest, ROOT } from '../own-modules';

/** One file of a new project; `path` is relative to it. */
interface ProjectFile {
  path: string;
  text: string;
}

const TEMPLATE = join(ROOT, 'templates', 'project');

/**
 * Files that have other names until they are written: npm leaves a .gitignore out of packages, and beside a package.json
 * of their own the files here could not import ours.
 */
const RENAMED: Readonly<Record<string, string>> = {
  gitignore: '.gitignore',
  'manifest.json': 'package.json',
};

/** The files of a new project in a directory, with its name and our versions filled in. */
export function projectFiles(directory: string): ProjectFile[] {
  const facts = { name: packageName(directory), ...versions() };
  return readdirSync(TEMPLATE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => {
      const path = file.slice(TEMPLATE.length + 1);
      return { path: RENAMED[path] ?? path, text: fill(readFileSync(file, 'utf8'), facts) };
    });
}

function fill(text: string, facts: Record<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (mark, name: string) => facts[name] ?? mark);
}

function versions(): Record<'version' | 'zod' | 'jiti' | 'sdk' | 'protobufjs', string> {
  const { version, dependencies, peerDependencies } = manifest();
  const of = (name: string): string => dependencies[name] ?? '';
  const peer = (name: string): string => peerDependencies[name] ?? '';
  return {
    ...{ version, zod: of('zod'), jiti: of('jiti') },
    ...{ sdk: peer('@temporalio/worker'), protobufjs: peer('protobufjs') },
  };
}

/** A name that npm takes, as near to the directory's as can be. */
function packageName(directory: string): string {
  const name = basename(directory)
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
    .slice(0, 100);
  // A package cannot depend on one of its own name.
  return name === '' || name === manifest().name ? 'my-agent' : name;
}

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

/** What an otherwise empty directory may hold. */
const HARMLESS = ['.git', '.DS_Store'];

/**
 * Makes sure that a directory is empty or not there yet.
 *
 * @throws CountersignError `usage` naming what is in it.
 */
export async function assertEmpty(directory: string, shown: string): Promise<void> {
  const names = await namesIn(directory, shown);
  const there = names.filter((name) => !HARMLESS.includes(name)).sort();
  if (there.length === 0) return;
  const some = there.slice(0, 3).join(', ') + (there.length > 3 ? ', …' : '');
  throw new CountersignError('usage', `${shown} is not empty: it has ${some}`, {
    hint: 'Name a new directory, such as `countersign init my-agent`. Nothing is ever overwritten.',
    data: { there },
  });
}

async function namesIn(directory: string, shown: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw cannot(`use ${shown}`, error);
  }
}

/**
 * Writes files that are not there yet.
 *
 * @throws CountersignError `usage` naming the file and what the system said; files that were written stay.
 */
export async function writeFiles(directory: string, files: readonly ProjectFile[]): Promise<void> {
  for (const { path, text } of files) {
    try {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text, { flag: 'wx' });
    } catch (error) {
      throw cannot(`write ${join(directory, path)}`, error);
    }
  }
}

function cannot(what: string, cause: unknown): CountersignError {
  const hint = 'Choose another directory, or make room and start again.';
  return new CountersignError('usage', `cannot ${what}: ${fileReason(cause)}`, { hint, cause });
}
