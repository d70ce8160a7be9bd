import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { root } from '../support/build';

const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8');

/** What a manifest is, and where its type is declared. */
const KINDS = {
  ConfigMap: 'core/v1',
  Service: 'core/v1',
  ServiceAccount: 'core/v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  Ingress: 'networking/v1',
  PodDisruptionBudget: 'policy/v1',
} as const;

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.literal([
    'ConfigMap',
    'Service',
    'ServiceAccount',
    'Deployment',
    'StatefulSet',
    'Ingress',
    'PodDisruptionBudget',
  ]),
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()) }),
});
type Manifest = z.infer<typeof Manifest>;

const folder = join(root, 'deploy', 'kubernetes');
const manifests = readdirSync(folder).flatMap((name) =>
  parseAllDocuments(readFileSync(join(folder, name), 'utf8'), { merge: true }).map((document) =>
    Manifest.parse(document.toJS()),
  ),
);
const named = manifests.map((one) => [`${one.kind} ${one.metadata.name}`, one] as const);

const Value = z.strictObject({
  name: z.string(),
  valueFrom: z.strictObject({
    secretKeyRef: z.strictObject({ name: z.string(), key: z.string(), optional: z.boolean() }),
  }),
});
const Probe = z.looseObject({ httpGet: z.strictObject({ path: z.string(), port: z.string() }) });
const Container = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).default([]),
  args: z.array(z.string()).default([]),
  env: z.array(Value).default([]),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.number() })).default([]),
  resources: z.strictObject({
    requests: z.strictObject({ cpu: z.string(), memory: z.string() }),
    limits: z.strictObject({ memory: z.string() }),
  }),
  securityContext: z.unknown(),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  startupProbe: Probe.optional(),
});
const Workload = z.object({
  spec: z.object({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).default([]),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        automountServiceAccountToken: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.looseObject({ runAsNonRoot: z.boolean() }),
        initContainers: z.array(Container).default([]),
        containers: z.tuple([Container]),
        volumes: z.array(
          z.looseObject({ name: z.string(), secret: z.object({ secretName: z.string() }).optional() }),
        ),
      }),
    }),
  }),
});

const workload = (name: string): z.infer<typeof Workload>['spec'] =>
  Workload.parse(
    manifests.find(({ kind, metadata }) => metadata.name === name && /Set|Deployment/.test(kind)),
  ).spec;
const worker = workload('countersign-worker');
const web = workload('countersign-web');
const pods = [
  ['worker', worker],
  ['web inbox', web],
] as const;
const containers = pods.flatMap(([name, { template }]) =>
  [...template.spec.initContainers, ...template.spec.containers].map((one) => [name, one] as const),
);

/** What TypeScript says of manifests as values of their declared types, which are made from the schema of Kubernetes. */
function faultsOf(checked: readonly Manifest[]): string[] {
  const file = join(root, 'manifests.ts');
  const lines = checked.map((manifest, index) => {
    const type = `import('kubernetes-types/${KINDS[manifest.kind]}').${manifest.kind}`;
    return `export const m${index}: ${type} = ${JSON.stringify(manifest)};`;
  });
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, types: [], skipLibCheck: true, target: ts.ScriptTarget.ES2022 },
    ...{ module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
  };
  const host = ts.createCompilerHost(options);
  const original = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, lines.join('\n'), ts.ScriptTarget.ES2022)
      : original(name, ...rest);
  const program = ts.createProgram([file], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

describe('each manifest', () => {
  it('fits the schema of Kubernetes, and has no field that Kubernetes does not know', () => {
    expect(faultsOf(manifests)).toEqual([]);
  });

  it('would be refused with a field that Kubernetes does not know, a wrong value, or without a field that it needs', () => {
    const of = (kind: string, changed: object): Manifest =>
      Manifest.parse({ ...manifests.find((one) => one.kind === kind), ...changed });
    const unknown = of('ServiceAccount', { automountServiceAcountToken: false });
    const wrong = of('Service', { spec: { ports: [{ port: 80, targetPort: {} }] } });
    const lacking = of('StatefulSet', { spec: { serviceName: 'countersign-worker' } });
    expect(faultsOf([unknown, wrong, lacking])).toEqual([
      expect.stringContaining('automountServiceAcountToken'),
      expect.stringContaining("Type '{}' is not assignable to type 'string | number"),
      expect.stringMatching(/selector, template/),
    ]);
  });

  it('is named once', () => {
    const names = named.map(([name]) => name);
    expect([...new Set(names)]).toEqual(names);
  });
});

describe.each(pods)('the pod of the %s', (_, { selector, template, volumeClaimTemplates }) => {
  const { spec } = template;
  const [main] = spec.containers;

  it('is found by its own selector', () => {
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
  });

  it('runs as the user of the image, who owns its folders, and not as root', () => {
    expect(read('Dockerfile')).toMatch(/^USER node$/m);
    expect(spec.securityContext).toMatchObject({
      ...{ runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  it('is alive by /health and ready by /ready, on a port that it opens', () => {
    expect(main.livenessProbe?.httpGet.path).toBe('/health');
    expect(main.startupProbe?.httpGet.path).toBe('/health');
    expect(main.readinessProbe?.httpGet.path).toBe('/ready');
    const names = main.ports.map(({ name }) => name);
    for (const probe of [main.livenessProbe, main.readinessProbe, main.startupProbe])
      expect(names).toContain(probe?.httpGet.port);
  });

  it('opens the ports that its arguments name', () => {
    const ports = main.args.flatMap((one) => /^(?:0\.0\.0\.0:)?(\d{4,5})$/.exec(one)?.[1] ?? []);
    expect(main.ports.map(({ containerPort }) => String(containerPort)).sort()).toEqual(ports.sort());
  });

  it('has each folder that it mounts', () => {
    const there = [
      ...spec.volumes.map(({ name }) => name),
      ...volumeClaimTemplates.map(({ metadata }) => metadata.name),
    ];
    for (const { volumeMounts } of [...spec.initContainers, main])
      for (const { name } of volumeMounts) expect(there).toContain(name);
    expect(main.volumeMounts).toContainEqual(expect.objectContaining({ name: 'state', mountPath: '/state' }));
    expect(read('Dockerfile')).toContain('XDG_STATE_HOME=/state');
  });
});

/** What the ConfigMap gives to each container. */
const settings = z
  .object({ data: z.record(z.string(), z.string()) })
  .parse(manifests.find(({ kind }) => kind === 'ConfigMap')).data;

describe.each(containers)('a container of the %s', (_, { image, args, env, securityContext }) => {
  it('can change nothing but what it is given', () => {
    expect(securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('is of the image that the compose file builds', () => {
    expect(read('docker-compose.yml')).toContain(`image: ${image}\n`);
  });

  it('is started with options that its command has', () => {
    const [command = 'worker'] = args;
    const page = read('src', 'cli', 'commands', `${command}.ts`);
    for (const option of args.filter((one) => one.startsWith('--')))
      expect(page).toMatch(new RegExp(`'${option} <`));
  });

  it('is given only what something reads', () => {
    const files = [
      'src/encryption/keys.ts',
      'deploy/agents/countersign.config.ts',
      // Temporal's own names are read by the SDK's package.
      'node_modules/@temporalio/envconfig/lib/envconfig-toml.js',
    ];
    const readers = files.map((file) => read(file)).join('\n');
    const names = [...env.map(({ name }) => name), ...Object.keys(settings)];
    expect(names.filter((name) => !readers.includes(`'${name}'`))).toEqual([]);
  });
});

describe('the workers', () => {
  it('get the time to drain that they take', () => {
    const [, force] = /shutdownForceTime: '(\d+)s'/.exec(read('src', 'worker', 'options.ts')) ?? [];
    expect(worker.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(force));
  });

  it('keep their journals, whatever becomes of them', () => {
    expect(manifests.find(({ kind }) => kind === 'StatefulSet')).toMatchObject({
      spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } },
    });
    expect(worker.volumeClaimTemplates.map(({ metadata }) => metadata.name)).toEqual(['state']);
  });
});

describe('the web inbox', () => {
  const {
    initContainers,
    containers: [main],
    terminationGracePeriodSeconds,
  } = web.template.spec;

  it('answers to the name that the Ingress has', () => {
    const host = main.args[main.args.indexOf('--allow-host') + 1];
    const ingress = manifests.find(({ kind }) => kind === 'Ingress');
    expect(ingress).toMatchObject({ spec: { rules: [{ host }], tls: [{ hosts: [host] }] } });
  });

  it('finds the users where it looks for them', () => {
    expect(initContainers[0]?.command.at(-1)).toBe('/state/countersign/users.json');
    expect(read('src', 'cli', 'open-web-inbox.ts')).toContain("'users.json'");
    expect(initContainers[0]?.command).toContain('600');
  });

  it('ends after its proxies have let it go', () => {
    expect(main['lifecycle']).toEqual({ preStop: { exec: { command: ['sleep', '5'] } } });
    expect(terminationGracePeriodSeconds).toBeGreaterThan(5 + 2);
  });
});

describe('secrets', () => {
  const secrets = [
    ...containers.flatMap(([, { env }]) => env.map(({ valueFrom }) => valueFrom.secretKeyRef.name)),
    ...pods.flatMap(([, { template }]) =>
      template.spec.volumes.flatMap(({ secret }) => secret?.secretName ?? []),
    ),
  ];

  it('are in no manifest', () => {
    const text = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('\n');
    expect(text).not.toMatch(/kind: Secret|stringData|value: /);
    const settings = manifests.find(({ kind }) => kind === 'ConfigMap');
    expect(
      Object.keys(z.object({ data: z.record(z.string(), z.string()) }).parse(settings).data).sort(),
    ).toEqual(['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE']);
  });

  it.each([...new Set(secrets)])('%s is in the runbook', (name) => {
    expect(read('docs', 'operating.md').includes(name)).toBe(true);
  });
});
