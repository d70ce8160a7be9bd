/** An MCP server without any library whose tool `act` writes a line to the ledger that its argument names. It may be killed. */
const { appendFileSync } = require('node:fs');
const { createInterface } = require('node:readline');

const [ledger] = process.argv.slice(2);
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const inputSchema = { type: 'object', properties: { tag: { type: 'string' } }, required: ['tag'] };

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'ledger', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [{ name: 'act', description: 'Writes a line.', inputSchema }] }),
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const answer = answers[method];
    if (answer !== undefined) return write({ id, result: answer(params) });
    const { tag } = params.arguments;
    appendFileSync(ledger, `${Date.now()} ledger__act ${tag} - ${process.pid}\n`);
    setTimeout(
      () => write({ id, result: { content: [{ type: 'text', text: 'done' }] } }),
      Math.random() * 300,
    );
  })
  .on('close', () => process.exit(0));
