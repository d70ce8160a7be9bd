import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { type Config, defineConfig } from '../../src/tools/define-config';
import { defineTool } from '../../src/tools/define-tool';
import { autoBuildId, deploymentOptions } from '../../src/worker/build-id-and-identity';

const BUILD = {
  version: { buildId: '2', deploymentName: 'countersign' },
  useWorkerVersioning: true,
} as const;

it('pins what a worker with a build id begins', () => {
  expect(deploymentOptions({ buildId: '2' })).toEqual({
    workerDeploymentOptions: { ...BUILD, defaultVersioningBehavior: 'PINNED' },
  });
});

it('changes nothing without a build id', () => {
  const own = { ...BUILD, defaultVersioningBehavior: 'AUTO_UPGRADE' } as const;
  expect(deploymentOptions({})).toEqual({});
  expect(deploymentOptions({ worker: { workerDeploymentOptions: own } })).toEqual({
    workerDeploymentOptions: own,
  });
});

it.each<[string, Parameters<typeof deploymentOptions>[0]]>([
  ['an empty build id', { buildId: '' }],
  ['spaces', { buildId: ' ' }],
  ['a colon', { buildId: 'a:b' }],
  ['a quote', { buildId: "a'b" }],
  ['a build id that is too long', { buildId: 'a'.repeat(129) }],
  ['an empty deployment', { buildId: '2', deployment: '' }],
  ['a deployment with a dot', { buildId: '2', deployment: 'a.b' }],
  [
    'two builds',
    { buildId: '2', worker: { workerDeploymentOptions: { ...BUILD, defaultVersioningBehavior: 'PINNED' } } },
  ],
])('refuses %s', (_case, settings) => {
  expect(() => deploymentOptions(settings)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});

const configWith = (description: string): Config => {
  const tools = [
    defineTool({ name: 'pay', description, parameters: { type: 'object' }, handler: () => 'ok' }),
  ];
  const agent = defineAgent({ name: 'clerk', instructions: 'x', model: scriptedModel([]), tools });
  return defineConfig({ agents: [agent] });
};

it('makes a build id of the version and what is declared, and the same one of the same', () => {
  const id = autoBuildId(configWith('Pays.'), '0.1.0');
  expect(autoBuildId(configWith('Pays.'), '0.1.0')).toBe(id);
  expect(() => deploymentOptions({ buildId: id })).not.toThrow();
  const others = [
    autoBuildId(configWith('Pays at once.'), '0.1.0'),
    autoBuildId(configWith('Pays.'), '0.2.0'),
  ];
  expect(new Set([id, ...others]).size).toBe(3);
});
