import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { existingServer } from '../../src/engine/existing';
import { scratchDirectory } from '../support/scratch';

const scratch = scratchDirectory();

const toml = (text: string): NodeJS.ProcessEnv => {
  const path = join(scratch(), 'temporal.toml');
  writeFileSync(path, text);
  return { TEMPORAL_CONFIG_FILE: path };
};

const none = (): NodeJS.ProcessEnv => ({ TEMPORAL_CONFIG_FILE: join(scratch(), 'missing.toml') });

it('is none without settings', () => {
  expect(existingServer(none())).toBeUndefined();
});

it('takes the address and namespace of the environment', () => {
  const env = { ...none(), TEMPORAL_ADDRESS: 'example.test:7233', TEMPORAL_NAMESPACE: 'agents' };
  expect(existingServer(env)).toMatchObject({
    kind: 'existing',
    address: 'example.test:7233',
    namespace: 'agents',
  });
});

it('takes those of temporal.toml, with the default namespace', () => {
  const env = toml('[profile.default]\naddress = "toml.test:7233"\n');
  expect(existingServer(env)).toMatchObject({ address: 'toml.test:7233', namespace: 'default' });
});

it('prefers the environment to temporal.toml', () => {
  const env = {
    ...toml('[profile.default]\naddress = "toml.test:7233"\n'),
    TEMPORAL_ADDRESS: 'env.test:7233',
  };
  expect(existingServer(env)?.address).toBe('env.test:7233');
});

it('takes the profile that is named', () => {
  const env = toml(
    '[profile.default]\naddress = "a:1"\n[profile.cloud]\naddress = "b:2"\nnamespace = "n"\napi_key = "k"\n',
  );
  const server = existingServer({ ...env, TEMPORAL_PROFILE: 'cloud' });
  expect(server).toMatchObject({ address: 'b:2', namespace: 'n', connection: { apiKey: 'k', tls: true } });
});

it('is none when temporal.toml names no address', () => {
  expect(existingServer(toml('[profile.default]\nnamespace = "n"\n'))).toBeUndefined();
});

it.each([
  ['a file that is no TOML', (): NodeJS.ProcessEnv => toml('profile = [[[')],
  [
    'a profile that is not there',
    (): NodeJS.ProcessEnv => ({ ...toml('[profile.default]\n'), TEMPORAL_PROFILE: 'x' }),
  ],
])('refuses %s', (_what, env) => {
  expect(() => existingServer(env())).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});
