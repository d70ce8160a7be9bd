import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { goBuildArgs, goModule, goRoute } from '../../src/engine/go-build';
import { scratchDirectory, writeScript } from '../support/scratch';

const scratch = scratchDirectory();
const env = (): NodeJS.ProcessEnv => ({
  ...process.env,
  XDG_CACHE_HOME: join(scratch(), 'cache'),
  FAKE: scratch(),
});

/** A `go` that answers as the real one does; `build` are the lines of its build command. */
const fakeGo = (version: string, ...build: string[]): string =>
  writeScript(
    join(scratch(), 'go'),
    'case "$1" in',
    `version) echo "go version go${version} linux/amd64" ;;`,
    'list) echo "go: downloading example.test/a v1" >&2; echo a; echo b; cp go.mod "$FAKE/seen.mod" ;;',
    `build) shift; while [ "$1" != -o ]; do shift; done; out=$2`,
    ...build,
    '  ;;',
    'esac',
  );

const MAKE = `printf '#!/bin/sh\\necho temporal version 1.8.2\\n' >"$out"`;

const attempt = (go: string, said: string[] = []): ReturnType<ReturnType<typeof goRoute>['attempt']> =>
  goRoute({ env: env(), go, progress: (line) => said.push(line) }).attempt();

it('asks for the official module, with the replacement that its own go.mod has', () => {
  expect(goModule().split('\n').filter(Boolean)).toEqual([
    'module countersign/temporal',
    'go 1.26.4',
    'require github.com/temporalio/cli v1.8.2',
    'replace github.com/temporalio/cli/cliext v0.0.0 => github.com/temporalio/cli/cliext v0.0.0-20260731000218-c579925f193f',
    'tool github.com/temporalio/cli/cmd/temporal',
  ]);
});

it('builds the command with its version in it', () => {
  expect(goBuildArgs('/out').join(' ')).toBe(
    'build -v -mod=mod -trimpath -o /out -ldflags -s -w -X github.com/temporalio/cli/internal/temporalcli.Version=1.8.2 github.com/temporalio/cli/cmd/temporal',
  );
});

it('builds into the cache and tells how far it is', async () => {
  const said: string[] = [];
  const result = await attempt(fakeGo('1.26.8', '  echo a >&2; echo b >&2', `  ${MAKE}`), said);
  expect(result).toEqual({
    engine: {
      kind: 'binary',
      binary: join(scratch(), 'cache/countersign/temporal-1.8.2/temporal'),
      version: '1.8.2',
      route: 'go',
    },
  });
  expect(said[0]).toMatch(/building Temporal 1.8.2 with Go, once: 4 to 5 minutes/);
  expect(said.at(-1)).toMatch(/compiling Temporal: 2 of up to 2 packages/);
});

it.each([
  ['is not installed', () => join(scratch(), 'missing'), /^Go is not installed$/],
  ['is too old', () => fakeGo('1.22.3'), /Go 1.22.3 is too old to build it; 1.26.4 or newer is needed/],
  ['tells no version', () => writeScript(join(scratch(), 'go'), 'true'), /version cannot be read/],
  [
    'cannot compile',
    () => fakeGo('1.26.8', '  echo "undefined: x" >&2; exit 1'),
    /with Go failed: undefined: x/,
  ],
  [
    'fills the disk',
    () => fakeGo('1.26.8', '  echo "write: no space left on device" >&2; echo more >&2; exit 1'),
    /failed: the disk is full/,
  ],
  ['is killed', () => fakeGo('1.26.8', '  kill -9 $$'), /ended by SIGKILL/],
  ['makes something that does not run', () => fakeGo('1.26.8', '  echo x >"$out"'), /does not run/],
])('says so when Go %s, and caches nothing', async (_what, go, message) => {
  expect(await attempt(go())).toEqual({ missed: expect.stringMatching(message) });
  expect(
    readdirSync(scratch()).includes('cache')
      ? readdirSync(join(scratch(), 'cache/countersign/temporal-1.8.2'))
      : [],
  ).toEqual([]);
});
