/**
 * Runs inside a sandbox, which gets this file as text: `node -e … -- SOCKET PROGRAM WORDS…`. Listens on the sandbox's
 * own loopback, passes each connection on to the Unix socket of the proxy outside, and runs the program with the
 * proxy's variables.
 */
'use strict';
const { spawn } = require('node:child_process');
const { connect, createServer } = require('node:net');
const { constants } = require('node:os');

const PORT = 3128;
const [socketPath, program, ...words] = process.argv.slice(1);

const server = createServer((incoming) => {
  const outgoing = connect(socketPath);
  incoming.on('error', () => outgoing.destroy());
  outgoing.on('error', () => incoming.destroy());
  incoming.once('close', () => outgoing.destroy());
  outgoing.once('close', () => incoming.destroy());
  incoming.pipe(outgoing).pipe(incoming);
});

server.listen(PORT, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${PORT}`;
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'];
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1', no_proxy: '', NO_PROXY: '' };
  for (const name of names) env[name] = url;
  const stdio = ['inherit', 'inherit', 'inherit', 'ignore', process.env.COUNTERSIGN_CHANNEL ? 4 : 'ignore'];
  const child = spawn(program, words, { stdio, env });
  child.once('error', (error) => {
    process.stderr.write(`${program}: ${error.message}\n`);
    process.exit(127);
  });
  child.once('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
});
