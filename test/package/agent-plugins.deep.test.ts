import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../support/build';
import { testAddress } from '../support/server';
import { isThorough } from '../support/thorough';
import { installPackage, run, type Installed } from './installed';

/** What our page tells whoever has a package that asks for an exact version of the SDK. */
function documentedOverrides(): object {
  const page = readFileSync(join(root, 'docs', 'errors', 'not_installed.md'), 'utf8');
  const [, block = ''] = /```json\n([^`]+)```/.exec(page) ?? [];
  const manifest: object = JSON.parse(block);
  return manifest;
}

/** One of the Node lines that are supported, which npm brings as a package. */
const nodePackage = (version: string): string[] => {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  return ['exec', '--yes', `--package=node-${platform}-${process.arch}@${version}`, '--', 'node'];
};

const PLUGINS: [string, { packages: string[]; script: string; node?: string; read: RegExp }][] = [
  [
    '@temporalio/openai-agents 1.23.0',
    {
      packages: [
        '@temporalio/openai-agents@1.23.0',
        '@openai/agents-core@0.11.8',
        '@openai/agents-openai@0.11.8',
        'openai@^6.35.0',
        '@opentelemetry/sdk-trace-base@^1.25.1',
      ],
      script: 'openai.cjs',
      read: /paid 700/,
    },
  ],
  [
    '@temporalio/ai-sdk 1.23.0, on Node 22',
    {
      packages: [
        '@temporalio/ai-sdk@1.23.0',
        'ai@7.0.173',
        '@ai-sdk/mcp@^2.0.0',
        '@ai-sdk/provider@^4.0.0',
        'zod@^4.0.0',
      ],
      script: 'ai-sdk.cjs',
      node: '22.23.3',
      read: /ann changed the arguments of this call before it ran.*900 → 700.*paid 700/,
    },
  ],
];

// They come from the registry, and some 500 packages with them.
const title = 'beside a plugin of Temporal for agents, with the overrides of our page';
const told = isThorough ? describe : describe.skip;

told(title, () => {
  let installed: Installed | undefined;
  afterEach(() => {
    if (installed !== undefined) rmSync(installed.app, { recursive: true, force: true });
  });

  it.each(PLUGINS)(
    '%s: one copy of the SDK, a gated call, an edit, one payment, and a turn',
    async (_, { packages, script, node, read }) => {
      installed = await installPackage({ packages, manifest: documentedOverrides(), fixtures: 'plugins' });
      const { app } = installed;
      const listed = await run('npm', ['ls', '@temporalio/common', '--all', '--parseable'], { cwd: app });
      expect(
        new Set(
          listed.out
            .trim()
            .split('\n')
            .filter((path) => path.endsWith('common')),
        ).size,
      ).toBe(1);
      const args = [script, testAddress()];
      // Not in the home of root, as in `npm run test:nodes`, which shares it.
      const env = { npm_config_cache: join(tmpdir(), 'countersign-nodes') };
      const { code, out, err } =
        node === undefined
          ? await installed.node(...args)
          : await run('npm', [...nodePackage(node), ...args], { cwd: app, env });
      expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
      const answer: unknown = JSON.parse(
        out
          .trim()
          .split('\n')
          .find((line) => line.startsWith('{"answer"')) ?? '{}',
      );
      expect(answer).toEqual({
        answer: expect.stringMatching(read),
        beside: 'a turn beside it',
        paid: ['700'],
      });
    },
    300_000,
  );
});
