import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedBinary, cacheDirectory, installBinary } from './cache';
import type { Attempt, Progress, Route } from './engine';
import { describeError, errnoOf, run } from './run';
import type { RunResult } from './run';
import { every } from './ticker';
import { atLeast, CLI_VERSION, findVersion, GO_OLDEST } from './version';

const PACKAGE = 'github.com/temporalio/cli/cmd/temporal';
const SAY_EVERY_MS = 3_000;

/**
 * `go install` refuses the command line because its go.mod has a replace directive, which Go honours in the main
 * module only. So this is a main module that asks for the same and builds the official package, unchanged.
 */
export const goModule = (): string =>
  [
    'module countersign/temporal',
    '',
    `go ${GO_OLDEST}`,
    '',
    `require github.com/temporalio/cli v${CLI_VERSION}`,
    '',
    'replace github.com/temporalio/cli/cliext v0.0.0 => github.com/temporalio/cli/cliext v0.0.0-20260731000218-c579925f193f',
    '',
    `tool ${PACKAGE}`,
    '',
  ].join('\n');

/** Arguments of `go` that build the command line to `output`. */
export const goBuildArgs = (output: string): string[] => [
  ...['build', '-v', '-mod=mod', '-trimpath', '-o', output],
  ...['-ldflags', `-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=${CLI_VERSION}`, PACKAGE],
];

/** What the build needs. */
export interface GoOptions {
  env: NodeJS.ProcessEnv;
  progress: Progress;
  /** The command to run. @default 'go' */
  go?: string;
}

/** The last route: builds the official command line from its published source. */
export const goRoute = (options: GoOptions): Route => ({
  name: 'go',
  acquires: true,
  attempt: async (): Promise<Attempt> => {
    const unfit = await whyGoIsUnfit(options);
    return unfit === undefined ? build(options) : { missed: unfit };
  },
});

const whyGoIsUnfit = async ({ go = 'go', env }: GoOptions): Promise<string | undefined> => {
  try {
    const version = findVersion((await run(go, ['version'], { env, timeoutMs: 20_000 })).lines.join(' '));
    if (version === undefined) return `${go} version cannot be read`;
    return atLeast(version, GO_OLDEST)
      ? undefined
      : `Go ${version} is too old to build it; ${GO_OLDEST} or newer is needed`;
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? 'Go is not installed' : `Go cannot be run: ${describeError(error)}`;
  }
};

const build = async (options: GoOptions): Promise<Attempt> => {
  const directory = cacheDirectory(options.env);
  try {
    const make = (staging: string): Promise<string> => buildInto(staging, options);
    const binary = await installBinary({ directory, progress: options.progress, make });
    return { engine: { kind: 'binary', binary, version: CLI_VERSION, route: 'go' } };
  } catch (error) {
    return { missed: `building ${cachedBinary(directory)} with Go failed: ${describeError(error)}` };
  }
};

const buildInto = async (staging: string, options: GoOptions): Promise<string> => {
  options.progress(
    `building Temporal ${CLI_VERSION} with Go, once: 4 to 5 minutes on a small machine, seconds if Go has it cached`,
  );
  const module = join(staging, 'module');
  await mkdir(module);
  await writeFile(join(module, 'go.mod'), goModule());
  const total = await fetchSources(module, options);
  const output = join(staging, 'temporal');
  await compile({ ...options, module, output, total });
  return output;
};

/** Downloads every module and returns how many packages the build consists of. */
const fetchSources = async (module: string, options: GoOptions): Promise<number> => {
  let fetched = 0;
  const say = (): void => options.progress(`fetching Temporal's sources: ${fetched} modules so far`);
  const onLine = (line: string): void => void (fetched += line.startsWith('go: downloading') ? 1 : 0);
  const args = ['list', '-mod=mod', '-deps', '-f', '{{.ImportPath}}', PACKAGE];
  const listed = await runGo({ ...options, module, args, say, onLine });
  return listed.lines.filter((line) => !line.startsWith('go: ')).length;
};

const compile = async (
  options: GoOptions & { module: string; output: string; total: number },
): Promise<void> => {
  const startedAt = Date.now();
  let compiled = 0;
  const onLine = (): void => void compiled++;
  const say = (): void => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    options.progress(`compiling Temporal: ${compiled} of up to ${options.total} packages, ${seconds} s`);
  };
  await runGo({ ...options, args: goBuildArgs(options.output), say, onLine });
  say();
};

interface GoRun extends GoOptions {
  module: string;
  args: string[];
  say: () => void;
  onLine: (line: string) => void;
}

const runGo = async ({ go, env, module, args, say, onLine }: GoRun): Promise<RunResult> => {
  const ticker = every(SAY_EVERY_MS, say);
  try {
    const result = await run(go ?? 'go', args, { cwd: module, env: { ...env, CGO_ENABLED: '0' }, onLine });
    if (result.code !== 0) throw new Error(whatGoSaid(result));
    return result;
  } finally {
    ticker.stop();
  }
};

const whatGoSaid = ({ lines, signal }: RunResult): string => {
  if (lines.some((line) => line.includes('no space left on device'))) return 'the disk is full';
  return signal === null ? lines.slice(-3).join(' ') : `ended by ${signal}`;
};
