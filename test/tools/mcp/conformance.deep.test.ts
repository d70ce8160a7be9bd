import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, root } from '../../support/build';

/** The official suite needs Node 22. `npm run test:nodes` runs it on the newest of its Nodes: it says the same on each. */
const isHere = Number(process.versions.node.split('.')[0]) >= 24;

const SUITE = join(root, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const CLIENT = join(root, 'test', 'support', 'mcp-conformance-client.cjs');

/**
 * All for clients of today's protocol. `auth/basic-cimd` is left out: it warns, as our client has no document of its own on
 * the web; it registers instead. So are the extensions in which no person logs in.
 */
const SCENARIOS = [
  'initialize',
  'tools_call',
  'elicitation-sep1034-client-defaults',
  'sse-retry',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/resource-mismatch',
];

/** The suite measures when our client comes back, too, which says more about the machine than about the client. */
const PROOF: Record<string, RegExp[]> = {
  'sse-retry': [/client-sse-graceful-reconnect *\] \S*SUCCESS/, /client-sse-last-event-id *\] \S*SUCCESS/],
};

beforeAll(ensureBuilt);

(isHere ? describe : describe.skip)('the official conformance suite of MCP, on Node 24', () => {
  it.each(SCENARIOS)('passes our client in %s', (scenario) => {
    const command = `${process.execPath} ${CLIENT}`;
    const args = [SUITE, 'client', '--command', command, '--scenario', scenario];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    for (const proof of PROOF[scenario] ?? [/OVERALL: PASSED/]) expect(`${stdout}${stderr}`).toMatch(proof);
  });
});
