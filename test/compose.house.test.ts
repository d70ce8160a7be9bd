import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { TASK_QUEUE } from '../src/contract/names';
import { ATTRIBUTE_TYPES, DYNAMIC_CONFIG, SIGNAL_LIMIT } from '../src/engine/server-args';
import { root } from './support/build';

const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8');

const Service = z.strictObject({
  image: z.string().regex(/^[\w./-]+:v?\d+\.\d+(\.\d+)?[\w.-]*$/, 'pinned by a tag that names a release'),
  build: z.literal('.').optional(),
  profiles: z.tuple([z.literal('monitoring')]).optional(),
  restart: z.enum(['unless-stopped', 'on-failure:5']),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  depends_on: z
    .record(
      z.string(),
      z.strictObject({ condition: z.enum(['service_healthy', 'service_completed_successfully']) }),
    )
    .default({}),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/, 'on the loopback address only')).default([]),
  healthcheck: z
    .strictObject({
      test: z.tuple([z.literal('CMD')], z.string()),
      interval: z.string(),
      timeout: z.string(),
      retries: z.number(),
      start_period: z.string(),
    })
    .optional(),
  deploy: z.strictObject({ replicas: z.number() }).optional(),
  stop_grace_period: z.string().optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  init: z.boolean().optional(),
});

/** Strict: a key that nobody thought of here, such as `network_mode` or `privileged`, is a failure. */
const { services, volumes } = z
  .strictObject({
    name: z.literal('countersign'),
    'x-admin-tools': z.unknown(),
    services: z.strictObject({
      postgresql: Service,
      schema: Service,
      temporal: Service,
      namespace: Service,
      ui: Service,
      worker: Service,
      web: Service,
      prometheus: Service,
      grafana: Service,
    }),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(read('docker-compose.yml'), { merge: true }));

const all = Object.entries(services);
const isOnce = (service: z.infer<typeof Service>): boolean => service.restart === 'on-failure:5';
const tagOf = (image: string): string => image.split(':')[1] ?? '';

describe('services', () => {
  it.each(all)('%s mounts only what is there', (_name, service) => {
    for (const volume of service.volumes) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('./')) expect(existsSync(join(root, source))).toBe(true);
      else expect(volumes).toHaveProperty(source);
    }
  });

  it.each(all)('%s waits for others by what they can tell', (_name, { depends_on }) => {
    for (const [other, { condition }] of Object.entries(depends_on)) {
      const service = Service.parse(Object.entries(services).find(([name]) => name === other)?.[1]);
      expect(condition).toBe(isOnce(service) ? 'service_completed_successfully' : 'service_healthy');
      if (condition === 'service_healthy') expect(service.healthcheck).toBeDefined();
    }
  });

  it.each(all.filter(([, service]) => !isOnce(service) && service.build === undefined))(
    '%s has a health check',
    (_name, { healthcheck }) => {
      expect(healthcheck).toBeDefined();
    },
  );

  it('start in an order without a circle, the worker last', () => {
    expect(orderOf('worker')).toEqual(['postgresql', 'schema', 'temporal', 'namespace', 'worker']);
  });

  it('are not the deprecated auto-setup', () => {
    expect(all.map(([, { image }]) => image).filter((image) => image.includes('auto-setup'))).toEqual([]);
  });

  it('mount what is ours read-only', () => {
    const ours = all.flatMap(([, service]) => service.volumes).filter((volume) => volume.startsWith('./'));
    expect(ours.filter((volume) => !volume.endsWith(':ro'))).toEqual([]);
  });
});

/** What has to be up before a service, itself last. */
const orderOf = (name: string): string[] => {
  const before = Service.parse(Object.fromEntries(all)[name]).depends_on;
  return [...new Set([...Object.keys(before).flatMap(orderOf), name])];
};

describe('the server', () => {
  const { temporal, schema } = services;

  it('is the version that npm run test:cluster builds, and so is the schema', () => {
    const [, version] = /SERVER_VERSION = '([\d.]+)'/.exec(read('scripts', 'cluster-parts.mjs')) ?? [];
    expect(tagOf(temporal.image)).toBe(version);
    expect(tagOf(schema.image)).toBe(version);
    expect(tagOf(services.namespace.image)).toBe(version);
  });

  it('uses the database that the schema is laid down in', () => {
    expect({
      plugin: temporal.environment['DB'],
      host: temporal.environment['POSTGRES_SEEDS'],
      port: temporal.environment['DB_PORT'],
      user: temporal.environment['POSTGRES_USER'],
      password: temporal.environment['POSTGRES_PWD'],
    }).toEqual({
      plugin: schema.environment['SQL_PLUGIN'],
      host: schema.environment['SQL_HOST'],
      port: schema.environment['SQL_PORT'],
      user: schema.environment['SQL_USER'],
      password: schema.environment['SQL_PASSWORD'],
    });
    expect(schema.environment['SQL_PASSWORD']).toBe(services.postgresql.environment['POSTGRES_PASSWORD']);
  });

  it('has four shards or more', () => {
    expect(Number(temporal.environment['NUM_HISTORY_SHARDS'])).toBeGreaterThanOrEqual(4);
  });

  it('has the dynamic configuration of our own server, and more room for visibility: other limits stay the usual ones', () => {
    const Setting = z.tuple([z.strictObject({ value: z.union([z.number(), z.boolean()]) })]);
    const settings = z.record(z.string(), Setting).parse(parse(read('deploy', 'dynamicconfig.yaml')));
    const told = Object.entries(settings).map(([key, [{ value }]]) => `${key}=${value}`);
    const ours = [...DYNAMIC_CONFIG, SIGNAL_LIMIT, 'frontend.namespaceRPS.visibility=50'];
    expect(told.sort()).toEqual(ours.sort());
    expect(temporal.environment['DYNAMIC_CONFIG_FILE_PATH']).toBe('/deploy/dynamicconfig.yaml');
    expect(temporal.volumes).toContain('./deploy:/deploy:ro');
  });
});

describe('the namespace', () => {
  const script = read('deploy', 'namespace.sh');

  it('gets every search attribute with its type', () => {
    const registered = [...script.matchAll(/^attribute (\w+) (\w+)$/gm)].map(([, name, type]) => [
      name,
      type,
    ]);
    expect(Object.fromEntries(registered)).toEqual(ATTRIBUTE_TYPES);
  });

  it('is ready only when each of them can be queried', () => {
    const queried = [...script.matchAll(/(Countersign\w+) IS NULL/g)].map(([, name]) => name);
    expect(queried.sort()).toEqual(Object.keys(ATTRIBUTE_TYPES).sort());
  });

  it('is the one that the worker and the UI use, on the same server', () => {
    const { namespace, worker, ui } = services;
    const place = (name: string): unknown[] =>
      [namespace, worker].map(({ environment }) => environment[name]).concat(ui.environment[name] ?? []);
    expect(new Set(place('TEMPORAL_ADDRESS')).size).toBe(1);
    expect(worker.environment['TEMPORAL_NAMESPACE']).toBe(namespace.environment['TEMPORAL_NAMESPACE']);
    expect(ui.environment['TEMPORAL_DEFAULT_NAMESPACE']).toBe(namespace.environment['TEMPORAL_NAMESPACE']);
  });
});

describe.each([
  ['schema', services.schema],
  ['namespace', services.namespace],
])('the one-shot %s', (_name, { entrypoint, command, volumes: mounted }) => {
  it('runs a script of ours that stops at the first failure', () => {
    expect(entrypoint).toEqual(['/bin/sh']);
    expect(mounted).toContain('./deploy:/deploy:ro');
    expect(read(...(command?.[0] ?? '').split('/'))).toMatch(/^#!\/bin\/sh\n[^]*\nset -eu\n/);
  });
});

describe('the worker', () => {
  const dockerfile = read('Dockerfile');
  const { worker } = services;
  const lastStage = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
  const seconds = (text = ''): number => Number(/^(\d+)s$/.exec(text)?.[1]);

  it('is built in stages on one pinned image of a Node that the package takes', () => {
    const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(images.length).toBeGreaterThanOrEqual(2);
    expect(new Set(images).size).toBe(1);
    expect(images[0]).toMatch(/^node:(20\.(19|2\d)|22\.\d+)\.\d+-\w+-slim$/);
  });

  it('does not run as root', () => {
    expect(lastStage).toMatch(/^USER node$/m);
    expect(worker).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  });

  it('has everything the package needs at run time, and nothing it needs to be built', () => {
    const copied = [...lastStage.matchAll(/--from=build \/app\/(\S+)/g)].map(([, path]) => path);
    expect(copied.sort()).toEqual(['bin', 'lib', 'node_modules', 'package.json']);
    expect(dockerfile).toMatch(/npm prune --omit=dev/);
  });

  it('is given to the build whole, and nothing besides', () => {
    const given = read('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    );
    expect([...new Set(copied.map((path) => path.split('/')[0]))].sort()).toEqual(given.sort());
    for (const path of copied) expect(existsSync(join(root, path))).toBe(true);
  });

  it('tells its health itself', () => {
    expect(lastStage).toMatch(/^HEALTHCHECK .*CMD \["node", "deploy\/worker-health\.cjs"\]$/m);
    expect(lastStage).toMatch(/^COPY deploy\/worker-health\.cjs deploy\/$/m);
  });

  it('works on the queue whose health is asked for', () => {
    expect(read('deploy', 'worker-health.cjs')).toContain(`COUNTERSIGN_QUEUE || '${TASK_QUEUE}'`);
    expect(read('deploy', 'agents', 'countersign.config.ts')).not.toContain('taskQueue');
  });

  it('runs the agents that are mounted', () => {
    expect(lastStage).toMatch(/^CMD \["worker", "agents\/countersign\.config\.ts"\]$/m);
    expect(worker.volumes).toContain('./deploy/agents:/app/agents:ro');
    expect(worker.command?.slice(0, 2)).toEqual(['worker', 'agents/countersign.config.ts']);
  });

  it('keeps its journal of unsafe calls in a volume', () => {
    expect(lastStage).toContain('XDG_STATE_HOME=/state');
    expect(worker.volumes).toContain('state:/state');
  });

  it('gets the time to drain that the worker takes', () => {
    const [, force] = /shutdownForceTime: '(\d+s)'/.exec(read('src', 'worker', 'options.ts')) ?? [];
    expect(seconds(worker.stop_grace_period)).toBeGreaterThan(seconds(force));
  });

  it('is there twice, and has the version of the package', () => {
    expect(worker.deploy?.replicas).toBe(2);
    expect(tagOf(worker.image)).toBe(
      z.object({ version: z.string() }).parse(JSON.parse(read('package.json'))).version,
    );
  });
});

describe('the profile `monitoring`', () => {
  const { web, prometheus, grafana, worker } = services;
  const Scraped = z.object({
    rule_files: z.array(z.string()),
    scrape_configs: z.array(
      z.object({
        job_name: z.string(),
        dns_sd_configs: z.array(z.object({ names: z.array(z.string()), port: z.number() })).default([]),
        static_configs: z.array(z.object({ targets: z.array(z.string()) })).default([]),
      }),
    ),
  });
  const { rule_files, scrape_configs } = Scraped.parse(
    parse(read('deploy', 'prometheus', 'prometheus.yaml')),
  );

  it('has the services that nothing else needs', () => {
    const named = all.filter(([, { profiles }]) => profiles !== undefined).map(([name]) => name);
    expect(named.sort()).toEqual(['grafana', 'prometheus', 'web']);
    for (const [, { profiles, depends_on }] of all)
      if (profiles === undefined) expect(named.filter((name) => Object.hasOwn(depends_on, name))).toEqual([]);
  });

  it('scrapes the ports that worker and web inbox open, as the jobs that alerts expect', () => {
    const places = scrape_configs.flatMap(({ job_name, dns_sd_configs, static_configs }) => [
      ...dns_sd_configs.flatMap(({ names, port }) => names.map((name) => [job_name, `${name}:${port}`])),
      ...static_configs.flatMap(({ targets }) => targets.map((target) => [job_name, target])),
    ]);
    const portOf = ({ command = [] }: z.infer<typeof Service>): string =>
      (command[command.indexOf('--metrics') + 1] ?? '').replace('0.0.0.0:', '');
    expect(places).toEqual([
      ['countersign-worker', `worker:${portOf(worker)}`],
      ['countersign-web', `web:${portOf(web)}`],
    ]);
    const jobs = [...read('deploy', 'prometheus', 'alerts.yaml').matchAll(/job="([\w-]+)"/g)];
    for (const [, job] of jobs) expect(places.map(([name]) => name)).toContain(job);
  });

  it('evaluates the alerts', () => {
    for (const file of rule_files) expect(existsSync(join(root, 'deploy', 'prometheus', file))).toBe(true);
    expect(prometheus.volumes).toContain('./deploy/prometheus:/etc/prometheus:ro');
    expect(prometheus.command).toContain('--config.file=/etc/prometheus/prometheus.yaml');
  });

  it('opens a web inbox that nobody can reach, so that it needs no users', () => {
    expect(web.command?.filter((word) => ['--host', '--users', '--allow-host'].includes(word))).toEqual([]);
    expect(web.ports).toEqual([]);
    expect(web.image).toBe(worker.image);
    expect(web).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('gives Grafana the dashboard, and Prometheus to read from', () => {
    const source = parse(read('deploy', 'grafana', 'provisioning', 'datasources', 'prometheus.yaml'));
    expect(source).toMatchObject({ datasources: [{ type: 'prometheus', url: 'http://prometheus:9090' }] });
    const folder = parse(read('deploy', 'grafana', 'provisioning', 'dashboards', 'countersign.yaml'));
    expect(folder).toMatchObject({ providers: [{ type: 'file', options: { path: '/deploy/grafana' } }] });
    expect(grafana.volumes).toContain('./deploy/grafana:/deploy/grafana:ro');
    expect(existsSync(join(root, 'deploy', 'grafana', 'countersign.json'))).toBe(true);
  });
});
