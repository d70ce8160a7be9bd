import { defineConfig } from '../../src/tools/define-config';
import { permitName, permitTools } from '../../src/tools/permit-tools';

it.each([
  ['Bash', 'agent__bash'],
  ['NotebookEdit', 'agent__notebook_edit'],
  ['mcp__files__write', 'agent__mcp_files_write'],
])('%s has the name %s here', (name, expected) => {
  expect(permitName(name)).toBe(expected);
});

it('makes tools that ask, have no effect, and take any arguments', () => {
  const [tool] = permitTools({ Bash: { requestExpires: '1h', noBatch: true } });
  expect(tool).toMatchObject({
    ...{
      name: 'agent__bash',
      safety: 'dangerous',
      effect: 'pure',
      requestExpiresMs: 3_600_000,
      noBatch: true,
    },
  });
  expect(tool?.parse({ command: 'rm -rf /', deep: { er: [1] } })).toMatchObject({ ok: true });
});

it.each([
  ['a setting that is none', { Bash: { safety: 'safe' } }],
  ['a name that is none', { '--': {} }],
  ['a time that is none', { Bash: { noBatch: 'yes' } }],
])('a config refuses %s', (_case, hookTools) => {
  const options = { agents: [], hookTools };
  expect(() => Reflect.apply(defineConfig, undefined, [options])).toThrow('hookTools');
});

it('lets a config have no agents where it is for the gateway, and only there', () => {
  expect(defineConfig({ agents: [], hookTools: { Bash: {} } }).agents).toEqual([]);
  expect(() => defineConfig({ agents: [] })).toThrow('must name at least one agent');
});
