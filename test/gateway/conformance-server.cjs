// The server whose tools the official conformance suite of MCP calls; without what a gateway does not hand on. And a tool
// whose calls wait.
const { createInterface } = require('node:readline');

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (words) => ({ type: 'text', text: words });
const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };
const resource = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
const inputSchema = { type: 'object', properties: {} };

const contents = {
  test_simple_text: [text('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }],
  test_embedded_resource: [
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: [
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
  test_tool_with_progress: [text('done')],
  test_error_handling: [text('This tool intentionally returns an error for testing')],
  pay: [text('paid')],
};

const tools = Object.keys(contents).map((name) => ({ name, description: `Does ${name}.`, inputSchema }));

// The suite wants pauses: a client may take what comes together in another order.
const call = async ({ id, params: { name, _meta: meta } }) => {
  const progressToken = meta?.progressToken;
  if (name === 'test_tool_with_progress' && progressToken !== undefined)
    for (const progress of [0, 50, 100]) {
      write({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  write({ id, result: { content: contents[name], isError: name === 'test_error_handling' } });
};

const methods = {
  initialize: ({ id, params: { protocolVersion } }) =>
    write({
      id,
      result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'suite', version: '1' } },
    }),
  ping: ({ id }) => write({ id, result: {} }),
  'tools/list': ({ id }) => write({ id, result: { tools } }),
  'tools/call': call,
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  methods[message.method]?.(message);
});
