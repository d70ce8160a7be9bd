import { CLIENTS, installLines } from '../../src/gateway/install';

const entry = {
  name: 'files',
  command: 'npx',
  args: ['countersign', 'mcp', 'gateway', 'files', '--config', '/a b/c.ts'],
};

it.each(CLIENTS)('prints an entry for %s that starts the gateway', (client) => {
  const text = installLines(client, entry).join('\n');
  expect(text).toContain('gateway');
  expect(text).toContain('/a b/c.ts');
});

it('quotes what a shell would take apart', () => {
  expect(installLines('claude-code', entry).at(-1)).toBe(
    "claude mcp add files -- npx countersign mcp gateway files --config '/a b/c.ts'",
  );
});

it('writes the JSON of a client', () => {
  const [, , json = ''] = installLines('vscode', entry);
  expect(JSON.parse(json)).toEqual({ servers: { files: { command: 'npx', args: entry.args } } });
});
