import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CountersignError } from '../../src/contract/errors';
import { cachedBinary, cacheDirectory } from '../../src/engine/install-binary';
import { existingServer, resolveEngine } from '../../src/engine/resolve';
import { type Engine, type EngineRoute, type RouteName, ENGINE_ROUTES } from '../../src/engine/engine';
import { fakeTemporal, scratchDirectory, writeScript } from '../support/scratch';

const scratch = scratchDirectory();

const engineOf = (name: RouteName): Engine =>
  name === 'existing'
    ? { kind: 'existing', address: 'a:1', namespace: 'default', connection: {} }
    : { kind: 'binary', binary: `/${name}`, version: '1.8.2', route: name };

/** Injected routes: those in `working` lead somewhere; `asked` records the order. */
const routes = (working: readonly RouteName[], asked: RouteName[] = []): EngineRoute[] =>
  ENGINE_ROUTES.map((name) => ({
    acquires: name === 'download' || name === 'go',
    attempt: async () => {
      asked.push(name);
      return working.includes(name) ? { engine: engineOf(name) } : { missed: `${name} missed` };
    },
  }));

describe('the order of the routes', () => {
  it.each(ENGINE_ROUTES.map((name, index) => [name, ENGINE_ROUTES.slice(index)] as const))(
    '%s comes before the later ones',
    async (name, working) => {
      const asked: RouteName[] = [];
      expect(await resolveEngine({}, { routes: routes(working, asked) })).toEqual(engineOf(name));
      expect(asked).toEqual(ENGINE_ROUTES.slice(0, ENGINE_ROUTES.indexOf(name) + 1));
    },
  );

  it('lists what was tried and what to install when nothing works', async () => {
    const failure = await resolveEngine({}, { routes: routes([]) }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CountersignError);
    expect(failure).toMatchObject({
      code: 'no_server',
      message: expect.stringMatching(
        /existing missed[\s\S]+setting missed[\s\S]+path missed[\s\S]+download missed[\s\S]+go missed/,
      ),
      hint: expect.stringMatching(/1\.4\.0.*Go 1\.26\.4.*TEMPORAL_ADDRESS/),
    });
  });

  it('only looks where that is asked', async () => {
    const asked: RouteName[] = [];
    const looking = resolveEngine({}, { acquire: false, routes: routes(['download', 'go'], asked) });
    await expect(looking).rejects.toMatchObject({ code: 'no_server' });
    expect(asked).toEqual(['existing', 'setting', 'path', 'cache']);
  });

  it('says why a route failed, and nothing of one that is merely absent', async () => {
    const said: string[] = [];
    const [first, second, ...rest] = routes(['cache']);
    if (first === undefined || second === undefined) throw new Error('there are six');
    const absent: EngineRoute = { ...first, attempt: async () => ({ missed: 'nothing set', absent: true }) };
    await resolveEngine({}, { routes: [absent, second, ...rest], progress: (line) => said.push(line) });
    expect(said).toEqual(['setting missed', 'path missed']);
  });
});

/** Nothing of this machine: no PATH but `bin`, no settings, an empty cache. */
const bare = (extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: join(scratch(), 'bin'),
  XDG_CACHE_HOME: join(scratch(), 'cache'),
  TEMPORAL_CONFIG_FILE: join(scratch(), 'missing.toml'),
  ...extra,
});

describe('on a machine', () => {
  beforeEach(() => mkdirSync(join(scratch(), 'bin')));

  const onPath = (version?: string): string => fakeTemporal(join(scratch(), 'bin', 'temporal'), version);
  const look = (env: NodeJS.ProcessEnv, said: string[] = []): Promise<Engine> =>
    resolveEngine(env, { acquire: false, progress: (line) => said.push(line) });

  const inCache = (make: (path: string) => void): string => {
    const path = cachedBinary(cacheDirectory(bare()));
    mkdirSync(dirname(path), { recursive: true });
    make(path);
    return path;
  };

  it('uses TEMPORAL_ADDRESS even if there are binaries', async () => {
    onPath();
    expect(await look(bare({ TEMPORAL_ADDRESS: 'x:1' }))).toMatchObject({ kind: 'existing', address: 'x:1' });
  });

  it('uses COUNTERSIGN_TEMPORAL_CLI before PATH', async () => {
    onPath();
    const binary = fakeTemporal(join(scratch(), 'mine'), '1.7.0');
    expect(await look(bare({ COUNTERSIGN_TEMPORAL_CLI: binary }))).toEqual({
      kind: 'binary',
      binary,
      version: '1.7.0',
      route: 'setting',
    });
  });

  it.each([
    ['does not exist', (path: string) => path, /does not exist/],
    ['is too old', (path: string) => fakeTemporal(path, '1.0.0'), /is version 1.0.0/],
    ['is not Temporal', (path: string) => writeScript(path, 'echo hello'), /not Temporal's command line/],
  ])('stops when COUNTERSIGN_TEMPORAL_CLI %s', async (_what, make, message) => {
    onPath();
    const env = bare({ COUNTERSIGN_TEMPORAL_CLI: make(join(scratch(), 'mine')) });
    await expect(look(env)).rejects.toMatchObject({
      code: 'no_server',
      message: expect.stringMatching(message),
    });
  });

  it('uses temporal on PATH before the cache', async () => {
    onPath('1.5.0');
    inCache((path) => fakeTemporal(path));
    expect(await look(bare())).toMatchObject({ route: 'path', version: '1.5.0' });
  });

  it('passes by an old temporal on PATH and says so', async () => {
    onPath('1.1.0');
    const binary = inCache((path) => fakeTemporal(path));
    const said: string[] = [];
    expect(await look(bare(), said)).toMatchObject({ route: 'cache', binary });
    expect(said).toEqual([expect.stringContaining('version 1.1.0; 1.4.0 or newer is needed')]);
  });

  it('removes a cached binary that does not run', async () => {
    const binary = inCache((path) => {
      writeFileSync(path, Buffer.from([0x7f, 0x45, 0x4c, 0x46]));
      chmodSync(path, 0o755);
    });
    const said: string[] = [];
    await expect(look(bare(), said)).rejects.toMatchObject({ code: 'no_server' });
    expect(said[0]).toContain('removing a broken binary');
    expect(existsSync(binary)).toBe(false);
  });

  it('tells everything it missed', async () => {
    await expect(look(bare())).rejects.toMatchObject({
      message: expect.stringMatching(
        /name no address[\s\S]+is not set[\s\S]+not on PATH[\s\S]+nothing is cached/,
      ),
    });
  });
});

describe('existingServer', () => {
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
});
