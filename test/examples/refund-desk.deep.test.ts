import { join } from 'node:path';
import { startNode } from '../cli/process';
import { ensureBuilt, lib, root } from '../support/build';
import { scratchDirectory } from '../support/scratch';

const scratch = scratchDirectory();

beforeAll(ensureBuilt);

/** Loads the agent in a process of its own, as `countersign dev` does, and tries its tool there. */
const SCRIPT = `
const { loadConfig } = require(${JSON.stringify(lib('cli', 'load-config.js'))});
const refund = { order: '1001', cents: 1500, reason: 'broken' };
(async () => {
  const { config } = await loadConfig(${JSON.stringify(join(root, 'examples', 'support-desk', 'agent.ts'))});
  const tool = config.agents[0].registry.get('refund_order');
  const context = (idempotencyKey, signal = new AbortController().signal) =>
    ({ callId: '2.1', tool: tool.name, idempotencyKey, attempt: 1, signal, partial() {} });
  const tell = (value) => console.log(JSON.stringify(value));
  tell(await tool.handle(refund, context('a', AbortSignal.abort())).catch(({ name }) => name));
  tell(await tool.verify(refund, context('a')));
  tell(await tool.handle(refund, context('a')));
  tell(await tool.verify(refund, context('a')));
  tell(await tool.verify(refund, context('b')));
})();
`;

it('pays nothing once it has to stop, and knows of a refund in doubt whether it was made', async () => {
  const env = { REFUNDS: join(scratch(), 'refunds') };
  const { out, err } = await startNode(['-e', SCRIPT], { env }).ended;
  expect(err).toBe('');
  const told = out.trim().split('\n');
  expect(told.map((line): unknown => JSON.parse(line))).toEqual([
    'ToolError',
    { outcome: 'did_not' },
    'refunded 15.00 EUR of order 1001',
    { outcome: 'happened', content: 'refunded 15.00 EUR of order 1001' },
    { outcome: 'did_not' },
  ]);
});
