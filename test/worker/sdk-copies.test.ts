import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireOneSdk, sdkCopies, sdkProblem, sdkVersion } from '../../src/worker/sdk-copies';
import { root } from '../support/build';
import { scratchDirectory } from '../support/scratch';

type SdkCopy = Parameters<typeof sdkProblem>[0][number];

const scratch = scratchDirectory();

/** A folder whose node_modules has packages of the SDK, as npm would install them. */
const application = (versions: Record<string, string>): string => {
  const folder = scratch();
  for (const [name, version] of Object.entries(versions)) {
    const at = join(folder, 'node_modules', '@temporalio', name);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'package.json'), JSON.stringify({ name: `@temporalio/${name}`, version }));
  }
  return folder;
};

it('finds one copy of each package here', () => {
  const copies = sdkCopies([root, join(root, 'src')]);
  expect(copies.map(({ name }) => name)).toHaveLength(6);
  expect(new Set(copies.map(({ version }) => version))).toEqual(new Set([sdkVersion()]));
  expect(sdkProblem(copies)).toBeUndefined();
  expect(requireOneSdk).not.toThrow();
});

it('finds none in a folder without the SDK', () => {
  expect(sdkCopies([scratch()])).toEqual([]);
});

it('names both copies of an application that has its own', () => {
  const own = application({ common: '1.23.0', workflow: '1.23.0' });
  const problem = sdkProblem(sdkCopies([root, own]));
  expect(problem).toContain(`@temporalio/common ${sdkVersion()} in ${root}`);
  expect(problem).toContain(`@temporalio/common 1.23.0 in ${own}`);
  expect(problem).not.toContain(`@temporalio/client 1.23.0`);
});

it('finds a copy that the SDK has of its own', () => {
  const own = application({ worker: '1.24.0', common: '1.24.0' });
  const nested = join(own, 'node_modules', '@temporalio', 'worker', 'node_modules', '@temporalio', 'common');
  mkdirSync(nested, { recursive: true });
  writeFileSync(join(nested, 'package.json'), '{"version":"1.24.0"}');
  expect(sdkProblem(sdkCopies([own]))).toContain(nested);
});

describe('versions', () => {
  const copies = (...versions: string[]): SdkCopy[] =>
    versions.map((version, at) => ({ name: `@temporalio/p${at}`, version, folder: `/${at}` }));

  it.each([['1.24.0'], ['1.24.1'], ['1.24.0-rc.1'], ['1.24.100']])('%s is one that works', (version) => {
    expect(sdkProblem(copies(version, version))).toBeUndefined();
  });

  it.each([['1.23.9'], ['1.9.0'], ['0.24.0'], ['1.25.0'], ['1.100.0'], ['2.0.0'], ['10.0.0']])(
    '%s is not',
    (version) => {
      expect(sdkProblem(copies(version))).toMatch(
        `Temporal's SDK is ${version}; Countersign works with 1.24.0`,
      );
    },
  );

  it('of packages must be the same', () => {
    expect(sdkProblem(copies('1.24.0', '1.24.1'))).toMatch(/more than one copy/);
  });
});
