/** An MCP server without any library, so that what is measured is the client: as many tools as its argument says, each answers 1 KiB. */
const { createInterface } = require('node:readline');

const number = Number(process.argv[2]);
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const content = [{ type: 'text', text: 'x'.repeat(1024) }];

/** As large as the tools of widely used servers are. */
const tool = (n) => ({
  name: `records_${n}`,
  description: `Lists the records of the department ${n}, the newest first. Use it when somebody asks what has changed there. It answers names, dates and states.`,
  inputSchema: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      id: { type: 'string', pattern: '^[A-Z]{2}-\\d{4,8}$', description: 'Only the record with this id' },
      since: { type: 'string', format: 'date-time', description: 'Only records that changed since then' },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The most records' },
      order: { enum: ['newest', 'oldest'], description: 'Which records come first' },
      filter: {
        type: 'object',
        properties: {
          state: { type: 'string', enum: ['open', 'closed', 'all'] },
          labels: { type: 'array', items: { type: 'string' } },
        },
      },
    },
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
});

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1' },
  }),
  'tools/list': () => ({ tools: Array.from({ length: number }, (_, n) => tool(n)) }),
  'tools/call': () => ({ content }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) write({ id, result: answers[method](params) });
});
