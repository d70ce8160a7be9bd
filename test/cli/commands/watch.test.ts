import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InboxFilters, readInboxQuery } from '../../../src/cli/flags';
import { stateFile } from '../../../src/cli/commands/watch';
import type { GlobalOptions } from '../../../src/cli/context';
import { scratchDirectory } from '../../support/scratch';

const directory = scratchDirectory();

interface Watch {
  notify?: string;
  filters?: InboxFilters;
  namespace?: string;
  options?: GlobalOptions;
  env?: NodeJS.ProcessEnv;
}

const fileOf = (watch: Watch): Promise<string> => {
  const { notify = 'true', filters = {}, namespace = 'default', options = {}, env = {} } = watch;
  const { limit: _, ...filter } = readInboxQuery(filters);
  const context = { env: { XDG_STATE_HOME: '/state', ...env }, options: () => options };
  return stateFile({ notify }, filter, { client: { namespace }, context });
};

it.each<[string, Watch]>([
  ['receiver', { notify: 'cat' }],
  ['namespace', { namespace: 'agents' }],
  ['address', { options: { address: 'other:7233' } }],
  ['address in the environment', { env: { TEMPORAL_ADDRESS: 'other:7233' } }],
  ['tool', { filters: { tool: 'pay' } }],
  ['agent', { filters: { agent: 'clerk' } }],
  ['age', { filters: { olderThan: '10m' } }],
])('a watch with another %s remembers what it sent in a file of its own', async (_, watch) => {
  expect(await fileOf(watch)).not.toBe(await fileOf({}));
  expect(await fileOf(watch)).toBe(await fileOf(watch));
});

it('a watch of the same items has the same file, whatever its limit', async () => {
  const filters = { tool: 'pay', agent: 'clerk' };
  expect(await fileOf({ filters: { ...filters, limit: '7' } })).toBe(await fileOf({ filters }));
});

it('two servers of one temporal.toml have a file each', async () => {
  const file = join(directory(), 'temporal.toml');
  writeFileSync(file, '[profile.a]\naddress = "a:7233"\n[profile.b]\naddress = "b:7233"\n');
  const env = { TEMPORAL_CONFIG_FILE: file };
  expect(await fileOf({ env, options: { profile: 'a' } })).not.toBe(
    await fileOf({ env, options: { profile: 'b' } }),
  );
});
