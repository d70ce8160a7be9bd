import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { createFiles } from '../../../src/tools/code/files';
import { createProjects, type Workbench } from '../../../src/tools/code/project';

/** Strict, and quick to check: only the language's own library. */
export const STRICT = '{"compilerOptions":{"strict":true,"target":"es2022","lib":["es2022"],"types":[]}}';

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A folder with some files, removed after the tests of the file that imports this. */
export const makeFolder = (texts: Readonly<Record<string, string>>): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-code-')));
  folders.push(folder);
  writeFiles(folder, texts);
  return folder;
};

export const writeFiles = (folder: string, texts: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
};

/** What questions about a folder are answered from, in this process. */
export const openFolder = (
  folder: string,
  configs: readonly string[] = ['tsconfig.json'],
): (() => Workbench) =>
  createProjects(ts, createFiles(folder, dirname(require.resolve('typescript'))), configs);

/** The same for the files of a test alone. */
export const openFiles = (texts: Readonly<Record<string, string>>): (() => Workbench) =>
  openFolder(makeFolder({ 'tsconfig.json': STRICT, ...texts }));
