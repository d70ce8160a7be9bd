import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { manifest, ROOT } from '../own-modules';

/** One file of a new project; `path` is relative to it. */
export interface ProjectFile {
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

function versions(): Record<'version' | 'zod' | 'jiti', string> {
  const { version, dependencies } = manifest();
  const of = (name: string): string => dependencies[name] ?? '';
  return { version, zod: of('zod'), jiti: of('jiti') };
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
