import { execFile } from 'node:child_process';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { shellWord } from '../../contract/text/shell-word';
import type { Context } from '../context';
import { CountersignError, errnoOf, errorMessage } from '../../contract/errors';
import { manifest, packageSource, ROOT } from '../own-modules';
import { systemReason } from '../../contract/text/system-errors';

/** One file of a new project. `path` is relative to the project. */
interface ProjectFile {
  path: string;
  text: string;
}

const TEMPLATE = join(ROOT, 'templates', 'project');

/**
 * Files that have other names in this package than in a project. npm leaves a .gitignore out of packages, and beside a
 * package.json of their own the template's files could not import this package.
 */
const RENAMED: Readonly<Record<string, string>> = {
  gitignore: '.gitignore',
  'manifest.json': 'package.json',
};

/**
 * The files of a new project in a directory, with its name, the versions of our dependencies and the source of this
 * package filled in.
 */
export function projectFiles(directory: string, countersign: string): ProjectFile[] {
  const facts: Record<string, string> = { name: packageName(directory), countersign, ...versions() };
  return readdirSync(TEMPLATE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => {
      const path = file.slice(TEMPLATE.length + 1);
      const fill = (mark: string, name: string) => facts[name] ?? mark;
      const text = readFileSync(file, 'utf8').replace(/\{\{(\w+)\}\}/g, fill);
      return { path: RENAMED[path] ?? path, text };
    });
}

function versions(): Record<'zod' | 'jiti' | 'sdk' | 'protobufjs', string> {
  const { dependencies, peerDependencies } = manifest();
  const of = (name: string) => dependencies[name] ?? '';
  const peer = (name: string) => peerDependencies[name] ?? '';
  return {
    zod: of('zod'),
    jiti: of('jiti'),
    sdk: peer('@temporalio/worker'),
    protobufjs: peer('protobufjs'),
  };
}

/** A package name that npm accepts, as close to the directory's name as possible. */
function packageName(directory: string) {
  const name = basename(directory)
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
    .slice(0, 100);
  // A package cannot depend on a package with its own name.
  return name === '' || name === manifest().name ? 'my-agent' : name;
}

interface InitOptions {
  from?: string;
}

/** `init [directory]`. */
export function addInit(program: Command, context: Context): void {
  program
    .command('init [directory]')
    .description('write a small project that works at once: agent, config, test, scripts')
    .option(
      '--from <source>',
      'where it gets countersign: a version, tarball, folder or URL (default: as this one was installed)',
    )
    .action((directory: string | undefined, options: InitOptions) =>
      init(directory ?? '.', options, context),
    );
}

async function init(named: string, { from }: InitOptions, { screen, json }: Context) {
  const directory = resolve(named);
  await assertEmpty(directory, named === '.' ? 'this directory' : named);
  const { countersign, packed } = await sourceFor(directory, from);
  const files = projectFiles(directory, countersign);
  await writeFiles(directory, files);
  const paths = [...files.map(({ path }) => path), ...packed];
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

/**
 * The dependency on this package for a project, and the names of the tarballs that were put into the project for it.
 */
interface ProjectSource {
  countersign: string;
  packed: string[];
}

/**
 * Puts a package that is not on the registry into the project as a tarball. The project can then be moved and shared,
 * and npm installs the tarball like any other package. A linked folder would bring its own copy of Temporal's SDK.
 */
async function sourceFor(directory: string, from: string | undefined): Promise<ProjectSource> {
  const source = from ?? packageSource() ?? ROOT;
  const path = source.replace(/^file:/, '');
  const found = await stat(path).catch((error: unknown) => {
    if (path !== source) throw cannot(`read ${path}`, error);
  });
  if (found === undefined) return { countersign: source, packed: [] };
  try {
    await mkdir(directory, { recursive: true });
    const tarball = found.isFile() ? basename(path) : await pack(path, directory);
    if (found.isFile()) await copyFile(path, join(directory, tarball));
    return { countersign: `file:${tarball}`, packed: [tarball] };
  } catch (error) {
    throw cannot(`put ${path} into ${directory}`, error);
  }
}

/** Packs a folder as npm would publish it. Returns the name of the tarball in the directory, which npm prints last. */
async function pack(folder: string, directory: string): Promise<string> {
  const args = ['pack', '--ignore-scripts', '--pack-destination', directory];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: folder });
  return stdout.trim().split('\n').at(-1) ?? '';
}

/** The names that a directory may hold and still count as empty. */
const HARMLESS = ['.git', '.DS_Store'];

/**
 * Makes sure that a directory is empty or not there yet.
 *
 * @throws CountersignError `usage` naming what is in it.
 */
export async function assertEmpty(directory: string, shown: string): Promise<void> {
  const names = await readdir(directory).catch((error: unknown): string[] => {
    if (errnoOf(error) === 'ENOENT') return [];
    throw cannot(`use ${shown}`, error);
  });
  const there = names.filter((name) => !HARMLESS.includes(name)).sort();
  if (there.length === 0) return;
  const some = there.slice(0, 3).join(', ') + (there.length > 3 ? ', …' : '');
  throw new CountersignError('usage', `${shown} is not empty: it has ${some}`, {
    hint: 'Name a new directory, such as `countersign init my-agent`. Nothing is ever overwritten.',
    data: { there },
  });
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
  return new CountersignError('usage', `cannot ${what}: ${systemReason(cause) ?? errorMessage(cause)}`, {
    hint,
    cause,
  });
}
