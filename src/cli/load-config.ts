import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { types } from 'node:util';
import { z } from 'zod';
import { CountersignError, ERROR_CODES, errorMessage } from '../contract/errors';
import { TASK_QUEUE } from '../contract/names';
import { escapeText } from '../contract/text/escape';
import type { Config } from '../tools/define-config';
import type { Context } from './context';
import { ownModules } from './own-modules';

const { isNativeError } = types;

/** The names of config files, which are looked for in the current directory in this order if no file is named. */
export const CONFIG_FILES = ['ts', 'mts', 'js', 'mjs', 'cjs'].map((type) => `countersign.config.${type}`);

/** A config and the file it came from. */
interface LoadedConfig {
  config: Config;
  file: string;
}

/**
 * Loads a config file in TypeScript or JavaScript. Its default export is an agent, a list of agents, or a config. The
 * modules for this are loaded here, so that no other command waits for them.
 *
 * @throws CountersignError `not_found`, or `config_invalid` naming file and line. An error of ours keeps its code.
 */
export async function loadConfig(named: string | undefined, cwd = process.cwd()): Promise<LoadedConfig> {
  const file = named === undefined ? configIn(cwd) : namedConfig(named, cwd);
  if (file === undefined)
    throw new CountersignError(
      'not_found',
      `there is no ${CONFIG_FILES[0] ?? ''} in ${cwd}`,
      'Name a config file, such as `countersign dev my-agent.ts`, or make one: its default export is an agent.',
    );
  const exported = await evaluate(file, cwd);
  const { toConfig } = await import('../tools/define-config.js');
  try {
    return { config: toConfig(exported), file };
  } catch (error) {
    throw inFile(error, shown(file, cwd));
  }
}

/**
 * The task queue of turns that a command starts: the named one, or that of the config in the current folder. Undefined:
 * there is no config, or it cannot be loaded here, where a worker's keys may be missing.
 */
export async function queueOf(
  named: string | undefined,
  { screen }: Pick<Context, 'screen'>,
): Promise<string | undefined> {
  if (named !== undefined || configIn(process.cwd()) === undefined) return named;
  try {
    return (await loadConfig(undefined)).config.taskQueue;
  } catch (error) {
    screen.note(escapeText(`${errorMessage(error)}; so the queue is ${TASK_QUEUE}, or what --queue names`));
    return undefined;
  }
}

function configIn(cwd: string) {
  return CONFIG_FILES.map((name) => resolve(cwd, name)).find((path) => existsSync(path));
}

function namedConfig(named: string, cwd: string) {
  const file = resolve(cwd, named);
  if (!existsSync(file)) {
    throw new CountersignError(
      'not_found',
      `the config file ${named} does not exist`,
      `It was looked for at ${file}.`,
    );
  }
  if (!statSync(file).isFile()) {
    throw new CountersignError(
      'config_invalid',
      `${named} is not a file`,
      'Name a TypeScript or JavaScript file.',
    );
  }
  return realpathSync(file);
}

async function evaluate(file: string, cwd: string): Promise<unknown> {
  const { createJiti } = await import('jiti');
  const jiti = createJiti(file, { virtualModules: ownModules(file), interopDefault: false });
  try {
    const loaded: unknown = await jiti.import(file);
    return defaultOf(loaded);
  } catch (error) {
    throw inFile(error, locate(error, file, cwd));
  }
}

/** The default export of a module. A CommonJS file exports its value itself. */
function defaultOf(loaded: unknown): unknown {
  if (typeof loaded !== 'object' || loaded === null) return loaded;
  if ('default' in loaded) return loaded.default;
  return '__esModule' in loaded || Object.keys(loaded).length === 0 ? undefined : loaded;
}

/** The error with its location in front of the message. Any other error becomes `config_invalid`. */
function inFile(error: unknown, place: string): CountersignError {
  const ours = ownError.safeParse(error);
  if (!ours.success) {
    const reason = reasonOf(error);
    const [, name] = /^Cannot find (?:module|package) '([^'.][^']*)'/.exec(reason) ?? [];
    const hint =
      name === undefined ? 'Correct the file and start again.' : `Is it installed? npm install ${name}`;
    return new CountersignError('config_invalid', `${place}: ${reason}`, { hint, cause: error });
  }
  const { code, message, hint } = ours.data;
  return new CountersignError(code, `${place}: ${message}`, { hint, cause: error });
}

/**
 * An error of this package. A second copy of this package has a different class for its errors, so we check the fields.
 */
const ownError = z.object({
  name: z.literal('CountersignError'),
  code: z.enum(ERROR_CODES),
  message: z.string(),
  hint: z.string().optional(),
});

/** The first line of the message, without the parts that jiti and Node add. */
function reasonOf(error: unknown) {
  if (!isNativeError(error)) return `it threw ${String(error)}`;
  const [first = ''] = error.message.split('\n');
  return first.replace(/^ParseError: /, '').trim() || error.name;
}

/** `file:line` of the place in the error where the file itself appears first. */
function locate(error: unknown, file: string, cwd: string) {
  const text = isNativeError(error) ? `${error.message}\n${error.stack ?? ''}` : '';
  for (const line of text.split('\n')) {
    const at = line.lastIndexOf(`${file}:`);
    const position = at === -1 ? null : /^\d+/.exec(line.slice(at + file.length + 1));
    if (position !== null) return `${shown(file, cwd)}:${position[0]}`;
  }
  // A syntax error in a file that the config imports.
  const [, other, line = ''] = /ParseError[^\n]*\n\s*(.+?):(\d+):\d+/.exec(text) ?? [];
  return other === undefined ? shown(file, cwd) : `${shown(other, cwd)}:${line}`;
}

/** The path of a file as a person reads it best: from the current folder, if the file is in it. */
export function shown(file: string, cwd = process.cwd()): string {
  const path = relative(realpathSync(cwd), file);
  return path === '' || path.startsWith('..') || isAbsolute(path) ? file : path;
}
