import type { McpStart } from '../../../src/tools/mcp/declare';
import { whyNotStarted } from '../../../src/tools/mcp/exact-version';

const stdio = (command: string, ...args: string[]): McpStart => ({
  kind: 'stdio',
  command,
  args,
  cwd: '.',
  env: {},
});

describe('what may be started', () => {
  it.each([
    stdio('node', 'server.js'),
    stdio('npx', '-y', '@scope/server@1.2.3', '/data', '-p', '80'),
    stdio('/usr/bin/npx', 'server@1.2.3-beta.1'),
    stdio('npx', '--package', 'a@1.0.0', 'run-a'),
    stdio('uvx', 'server==1.2'),
    stdio('uvx', '--from', 'server@1.2.3', 'run'),
    stdio('npm', 'run', 'server'),
    stdio('npm', 'run', 'x'),
    stdio('pnpm', 'start', 'dlx'),
    stdio('pnpx', '--silent', 'server@1.2.3'),
    stdio('cmd', '/c', 'npx', '-y', 'server@1.2.3'),
    stdio('env', 'A=1', 'npx', 'server@1.2.3'),
    stdio('env'),
    stdio('deno', 'run', '-A', 'npm:@scope/server@1.2.3/run', 'https://api.example.com'),
    stdio('deno', 'run', '-A', 'jsr:@scope/server@1.2.3'),
    stdio('dx', 'npm:server@1.2.3'),
    stdio('deno', 'run', '--allow-net', 'server.ts', 'npm:anything'),
    { kind: 'http', url: 'https://mcp.example.com/mcp', headers: {} } as const,
  ])('%j', (start) => {
    expect(whyNotStarted(start)).toBeUndefined();
  });

  it.each([
    stdio('npx', '-y', 'server'),
    stdio('npx', 'server@latest'),
    stdio('npx', 'server@^1.2.3'),
    stdio('NPX.CMD', 'server@1'),
    stdio('npx', 'evil', '-p', 'good@1.0.0'),
    stdio('npx', '--call', 'evil', 'good@1.0.0'),
    stdio('npx', '--package=evil', 'good@1.0.0'),
    stdio('npx', '-p', 'good@1.0.0', '-p', 'evil', 'x'),
    stdio('npx', 'https://example.com/evil.tgz'),
    stdio('npx'),
    stdio('uvx', 'server'),
    stdio('uvx', 'server>=1.2'),
    stdio('uvx', '-p', 'cpython@3.12', 'server'),
    stdio('uvx', '--package', 'good@1.2', 'server'),
    stdio('npx', '--from', 'good@1.0.0', 'server'),
    stdio('npm', 'exec', 'server@1.2.3'),
    stdio('pipx', 'run', 'server'),
    stdio('npm', '--yes', 'exec', 'server'),
    stdio('npm', '--prefix', 'x', 'exe', 'server'),
    stdio('npm', 'x', 'server'),
    stdio('npm', 'create', 'server'),
    stdio('pnpm', '--silent', 'dlx', 'server'),
    stdio('yarn', 'dlx', 'server'),
    stdio('uv', '--quiet', 'tool', 'run', 'server'),
    stdio('bun', 'x', 'server'),
    stdio('bun', '--bun', 'x', 'server'),
    stdio('bunx', 'server'),
    stdio('bunx', '--bun', 'server'),
    stdio('pnpx', 'server'),
    stdio('pnx', 'server@latest'),
    stdio('pnpx', '-p', 'good@1.0.0', 'server'),
    stdio('deno', 'run', 'npm:server'),
    stdio('deno', 'run', '-A', 'npm:server@^1.2.3'),
    stdio('deno', 'run', '-A', 'NPM:server'),
    stdio('deno', 'run', '--config', 'deno.json', 'jsr:@scope/server'),
    stdio('deno', 'run', '-A', 'https://example.com/evil.ts'),
    stdio('deno', '-A', 'npm:server'),
    stdio('dx', 'npm:server'),
    stdio('dx', 'server'),
    stdio('deno', 'x', 'server'),
    stdio('cmd.exe', '/d', '/c', 'npx', 'server'),
    stdio('/usr/bin/env', '-i', 'A=1', 'npx', 'server'),
    stdio('corepack', 'pnpm', 'dlx', 'server'),
    { kind: 'http', url: 'file:///etc/passwd', headers: {} } as const,
    { kind: 'http', url: 'javascript:alert(1)', headers: {} } as const,
    { kind: 'http', url: 'https://me:secret@example.com', headers: {} } as const,
    { kind: 'http', url: 'nowhere', headers: {} } as const,
  ])('not %j', (start) => {
    expect(whyNotStarted(start)).toEqual(expect.any(String));
  });
});
