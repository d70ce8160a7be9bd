import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolvePlace, temporalSettings } from '../../src/system/temporal-settings';

const before = { ...process.env };
let directory: string;

beforeEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('TEMPORAL_')) delete process.env[name];
  directory = mkdtempSync(join(tmpdir(), 'countersign-settings-'));
  process.env['TEMPORAL_CONFIG_FILE'] = join(directory, 'temporal.toml');
});

afterEach(() => {
  process.env = { ...before };
  rmSync(directory, { recursive: true, force: true });
});

const file = (text: string): void => writeFileSync(join(directory, 'temporal.toml'), text);

test('without anything: a local server', () => {
  expect(resolvePlace({})).toEqual({ address: 'localhost:7233', namespace: 'default', connection: {} });
});

test('the file, under the environment, under options', () => {
  file('[profile.default]\naddress = "file:1"\nnamespace = "file-ns"\n');
  expect(resolvePlace({})).toMatchObject({ address: 'file:1', namespace: 'file-ns' });
  process.env['TEMPORAL_ADDRESS'] = 'env:2';
  expect(resolvePlace({})).toMatchObject({ address: 'env:2', namespace: 'file-ns' });
  expect(resolvePlace({ address: 'given:3', namespace: 'mine' })).toMatchObject({
    address: 'given:3',
    namespace: 'mine',
  });
  const env = { TEMPORAL_CONFIG_FILE: join(directory, 'temporal.toml'), TEMPORAL_ADDRESS: 'other:4' };
  expect(resolvePlace({}, env)).toMatchObject({ address: 'other:4', namespace: 'file-ns' });
});

test.each([
  ['a namespace', { TEMPORAL_NAMESPACE: 'agents' }, { namespace: 'agents' }],
  ['a key', { TEMPORAL_API_KEY: 'k' }, { connection: { apiKey: 'k', tls: true } }],
  ['TLS', { TEMPORAL_TLS: 'true' }, { connection: { tls: expect.anything() } }],
])('%s counts without an address', (_, env, expected) => {
  Object.assign(process.env, env);
  expect(temporalSettings(process.env)).toMatchObject(expected);
  expect(resolvePlace({})).toMatchObject({ address: 'localhost:7233', ...expected });
  expect(resolvePlace({ address: 'given:3' })).toMatchObject({ address: 'given:3', ...expected });
});

test('a profile by option or environment, with its key and TLS', () => {
  file('[profile.prod]\naddress = "prod:1"\napi_key = "k"\n');
  process.env['TEMPORAL_PROFILE'] = 'prod';
  const settings = resolvePlace({});
  expect(settings.address).toBe('prod:1');
  expect(settings.connection).toMatchObject({ apiKey: 'k', tls: expect.anything() });
  delete process.env['TEMPORAL_PROFILE'];
  expect(resolvePlace({ profile: 'prod' })).toEqual(settings);
});

test.each([
  ['a file that is no TOML', () => file('[profile'), {}],
  ['a profile that is not there', () => file('[profile.default]\n'), { profile: 'nope' }],
])('%s is said so', (_, arrange, options) => {
  arrange();
  expect(() => resolvePlace(options)).toThrow(
    expect.objectContaining({ code: 'config_invalid', hint: expect.stringContaining('temporal.toml') }),
  );
});
