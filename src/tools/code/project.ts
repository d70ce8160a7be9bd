import { createHash } from 'node:crypto';
import type ts from 'typescript';
import { join } from 'node:path';
import { z } from 'zod';
import { ToolError } from '../errors';
import type { ProjectFiles } from './files';

/** The loaded TypeScript module. This file imports its types only. */
export type TypeScript = typeof ts;

/** The project of one tsconfig.json, as TypeScript has loaded it. */
export interface Project {
  /** Absolute path of its config. */
  readonly config: string;
  /** The errors in the config itself. */
  readonly problems: readonly ts.Diagnostic[];
  readonly service: ts.LanguageService;
  readonly program: ts.Program;
  readonly checker: ts.TypeChecker;
  /** The project's own sources: sources below the root that do not belong to a package. */
  readonly sources: readonly ts.SourceFile[];
}

/** All that the answer to a question needs. */
export interface Workbench {
  readonly ts: TypeScript;
  readonly files: ProjectFiles;
  readonly projects: readonly Project[];
}

/**
 * The most projects. Projects that refer to each other belong to one repository, and more would not fit into memory.
 */
const MOST_PROJECTS = 100;

/** The most files that the `include` of one config may find. A longer list seldom consists of sources. */
const MOST_FILES = 20_000;

/** Keeps the projects of some configs. Each call of the returned function brings them up to date with the disk. */
export function createProjects(
  typescript: TypeScript,
  files: ProjectFiles,
  configs: readonly string[],
): () => Workbench {
  const loaded = new Map<string, Loaded>();
  const registry = typescript.createDocumentRegistry(typescript.sys.useCaseSensitiveFileNames, files.root);
  const reader = createConfigReader(typescript, files);
  return () => {
    files.refresh();
    const found = readConfigs(reader, files, configs);
    for (const [config, { service }] of loaded) {
      if (found.has(config)) continue;
      service.dispose();
      loaded.delete(config);
    }
    for (const [config, read] of found) {
      const known = loaded.get(config);
      if (known === undefined) loaded.set(config, load(read, { typescript, files, registry, reader }));
      else known.update(read);
    }
    const projects = [...loaded].map(([config, one]) => toProject(config, one, files));
    return { ts: typescript, files, projects };
  };
}

function toProject(config: string, { service, problems }: Loaded, files: ProjectFiles): Project {
  const program = service.getProgram();
  if (program === undefined) throw new Error('TypeScript gave no program');
  const sources = program
    .getSourceFiles()
    .filter(
      ({ fileName }) =>
        files.isBelowRoot(fileName) && !fileName.includes('/node_modules/') && !fileName.endsWith('.json'),
    );
  return { config, problems: problems(), service, program, checker: program.getTypeChecker(), sources };
}

/** A config as the disk has it now. */
interface ReadConfig {
  parsed: ts.ParsedCommandLine;
  problems: readonly ts.Diagnostic[];
}
type ConfigReader = (path: string) => ReadConfig | undefined;

/** The given configs and all configs that they refer to, by path. @throws ToolError if a given config is missing. */
function readConfigs(
  read: ConfigReader,
  files: ProjectFiles,
  configs: readonly string[],
): Map<string, ReadConfig> {
  const found = new Map<string, ReadConfig>();
  const waiting = configs.map((name) => join(files.root, name));
  for (const path of waiting) {
    if (found.has(path)) continue;
    const config = read(path);
    if (config === undefined && waiting.indexOf(path) < configs.length) throw missing(files.shown(path));
    if (config === undefined) continue;
    found.set(path, config);
    const referred = (config.parsed.projectReferences ?? []).map(({ path: to }) => configIn(files, to));
    waiting.push(...referred.filter(files.isBelowRoot));
    if (found.size > MOST_PROJECTS)
      throw new ToolError(`The configs refer to more than ${MOST_PROJECTS} projects. Nothing was looked up.`);
  }
  return found;
}

/** A reference names a config or its folder. */
const configIn = (files: ProjectFiles, path: string): string =>
  files.isFolder(path) ? join(path, 'tsconfig.json') : path;

function missing(config: string): ToolError {
  return new ToolError(
    `There is no readable "${config}" in the folder of the code tools. The person who runs this agent has to make one, such as {"include": ["src"]}, or name another by the option project of createCodeTools. For JavaScript it needs "allowJs": true.`,
  );
}

/** Finds the files of `include` in a given file system. TypeScript exports this function, but its types lack it. */
type MatchFiles = (
  ...args: [
    folder: string,
    extensions: readonly string[],
    excludes: readonly string[] | undefined,
    includes: readonly string[],
    isCaseSensitive: boolean,
    current: string,
    depth: number | undefined,
    list: ProjectFiles['list'],
    realPath: ProjectFiles['realPath'],
  ]
) => string[];

function createConfigReader(typescript: TypeScript, files: ProjectFiles): ConfigReader {
  const isCaseSensitive = typescript.sys.useCaseSensitiveFileNames;
  const match = z
    .custom<MatchFiles>((value) => typeof value === 'function')
    .parse(Reflect.get(typescript, 'matchFiles'));
  return (path) => {
    const problems: ts.Diagnostic[] = [];
    const parsed = typescript.getParsedCommandLineOfConfigFile(path, undefined, {
      useCaseSensitiveFileNames: isCaseSensitive,
      getCurrentDirectory: () => files.root,
      fileExists: files.isFile,
      readFile: files.read,
      readDirectory: (...[folder, extensions, excludes, includes, depth]) => {
        const found = [folder, extensions, excludes, includes, isCaseSensitive] as const;
        return match(...found, files.root, depth, files.list, files.realPath);
      },
      onUnRecoverableConfigFileDiagnostic: (problem) => void problems.push(problem),
    });
    if (parsed === undefined) return undefined;
    if (parsed.fileNames.length > MOST_FILES)
      throw new ToolError(
        `"${files.shown(path)}" includes ${parsed.fileNames.length} files; more than ${MOST_FILES} are not looked at. Nothing was looked up.`,
      );
    return { parsed, problems: [...problems, ...parsed.errors] };
  };
}

/** The language service of one config. */
interface Loaded {
  readonly service: ts.LanguageService;
  problems(): readonly ts.Diagnostic[];
  update(read: ReadConfig): void;
}

/** The objects that all services share. */
interface Shared {
  typescript: TypeScript;
  files: ProjectFiles;
  registry: ts.DocumentRegistry;
  reader: ConfigReader;
}

/** Two members that the host's types lack in some versions of TypeScript. The service reads them in all versions. */
type Host = ts.LanguageServiceHost & {
  hasInvalidatedResolutions(path: string): boolean;
  useSourceOfProjectReferenceRedirect(): boolean;
};

/** Makes the service of a config. Plugins are never loaded, because they are code of the project. */
function load(first: ReadConfig, { typescript, files, registry, reader }: Shared): Loaded {
  let current = first;
  let looks = 0;
  const imports = createImports(typescript, files);
  const texts = createTexts(typescript, files);
  const host: Host = {
    ...imports,
    ...texts,
    getCompilationSettings: () => current.parsed.options,
    getScriptFileNames: () => current.parsed.fileNames,
    // The files are looked at once for each question. Without this, TypeScript compares them all whenever it is asked.
    getProjectVersion: () => String(looks),
    // Referenced projects are read as sources, so that they need not be built first.
    getProjectReferences: () => current.parsed.projectReferences,
    useSourceOfProjectReferenceRedirect: () => true,
    getParsedCommandLine: (path) => reader(path)?.parsed,
    getCurrentDirectory: () => files.root,
    getDefaultLibFileName: (options) => typescript.getDefaultLibFilePath(options),
    useCaseSensitiveFileNames: () => typescript.sys.useCaseSensitiveFileNames,
    readFile: files.read,
    fileExists: files.isFile,
    directoryExists: files.isFolder,
    getDirectories: (path) => files.list(path).directories,
    realpath: files.realPath,
  };
  return {
    service: typescript.createLanguageService(host, registry),
    problems: () => current.problems,
    update: (read) => {
      current = read;
      looks += 1;
      imports.refresh();
    },
  };
}

/**
 * Caches texts, so that an unchanged file is not read again. A version is the digest of a text. TypeScript reads only one
 * of two copies of a package, and asks for the version of both: with two versions it would make a new program at each
 * question.
 */
function createTexts(typescript: TypeScript, files: ProjectFiles) {
  const known = new Map<
    string,
    { seen: string; version: string; snapshot: ts.IScriptSnapshot | undefined }
  >();
  const find = (path: string) => {
    const seen = files.version(path);
    const before = known.get(path);
    if (before?.seen === seen && before.snapshot !== undefined) return before;
    const text = files.read(path);
    const now =
      text === undefined
        ? { seen, version: '', snapshot: undefined }
        : {
            seen,
            version: createHash('sha1').update(text).digest('base64'),
            snapshot: typescript.ScriptSnapshot.fromString(text),
          };
    known.set(path, now);
    return now;
  };
  return {
    getScriptSnapshot: (path: string) => find(path).snapshot,
    getScriptVersion: (path: string) => find(path).version,
  };
}

/**
 * Resolves imports, and remembers files with unresolved imports: the imported file may be made later, and TypeScript
 * would not look again by itself. Packages are looked for again once the folder of packages has changed.
 */
function createImports(typescript: TypeScript, files: ProjectFiles) {
  const unresolved = new Map<string, 'file' | 'package'>();
  const packages = (): string => files.version(join(files.root, 'node_modules'));
  let [before, haveChanged] = [packages(), false];
  const canonical = (path: string): string =>
    typescript.sys.useCaseSensitiveFileNames ? path : path.toLowerCase();
  const host: ts.ModuleResolutionHost = {
    fileExists: files.isFile,
    readFile: files.read,
    directoryExists: files.isFolder,
    getDirectories: (path) => files.list(path).directories,
    getCurrentDirectory: () => files.root,
    realpath: files.realPath,
  };
  const cache = typescript.createModuleResolutionCache(files.root, canonical);
  const resolveModuleNameLiterals: NonNullable<ts.LanguageServiceHost['resolveModuleNameLiterals']> = (
    ...[literals, from, redirected, options, source]
  ) => {
    unresolved.delete(canonical(from));
    return literals.map((literal) => {
      const mode = typescript.getModeForUsageLocation(source, literal, options);
      const args = [literal.text, from, options, host, cache, redirected, mode] as const;
      const found = typescript.resolveModuleName(...args);
      if (found.resolvedModule !== undefined) return found;
      const isFile = literal.text.startsWith('.') || unresolved.get(canonical(from)) === 'file';
      unresolved.set(canonical(from), isFile ? 'file' : 'package');
      return found;
    });
  };
  return {
    resolveModuleNameLiterals,
    hasInvalidatedResolutions: (path: string): boolean => {
      const missed = unresolved.get(path);
      return missed === 'file' || (missed === 'package' && haveChanged);
    },
    refresh: (): void => {
      cache.clear();
      const now = packages();
      [before, haveChanged] = [now, now !== before];
    },
  };
}
