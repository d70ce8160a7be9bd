import type { Writable } from 'node:stream';
import { type Command, Option } from 'commander';
import { usageError } from '../../contract/errors';
import { LOOPBACK_HOST } from '../../system/loopback';
import { CLIENTS, installLines } from '../../gateway/install';
import type { Served } from '../../gateway/tools';
import type { Context } from '../context';
import { refuseOptions } from '../flags';
import { loadConfig } from '../load-config';
import type { McpOptions } from '../mcp-servers';
import { type GatewayOptions, openGateway, workerOption } from '../open-gateway';
import { manifest, programName } from '../own-modules';
import { takeStopSignals } from '../stop-signals';
import { takeStdout } from '../take-stdout';

interface ServeOptions extends GatewayOptions {
  agent?: string;
  http?: string;
  signIn?: string;
  print?: Parameters<typeof installLines>[0];
}

/** `mcp gateway [server]`. */
export function addGateway(mcp: Command, context: Context): void {
  mcp
    .command('gateway [server]')
    .description('serve the allowed MCP servers, or one under its own names, through the gate')
    .option('--agent <name>', "serve an agent's tools instead")
    .option('--http <address>', 'HTTP on this port or host:port, instead of stdio; 0: a free one')
    .option('--sign-in <file>', 'with --http: how people of the approvers file sign in at their provider')
    .addOption(workerOption())
    .addOption(new Option('--record <calls>', 'record safe calls, too').choices(['all']))
    .addOption(
      new Option('--print <client>', 'instead: print how this client starts it; writes nothing').choices(
        CLIENTS,
      ),
    )
    .action((server: string | undefined, { agent, print, ...own }: ServeOptions) => {
      if (server !== undefined && agent !== undefined)
        throw usageError('name a server or --agent, one of them');
      const options = { ...own, ...mcp.opts<McpOptions>() };
      const served = { server, agent };
      return print === undefined
        ? serve(served, options, context)
        : printEntry(print, served, options, context);
    });
}

async function serve(served: Served, options: ServeOptions, context: Context) {
  // Before the config is loaded: its code may print, and stdout is for the protocol alone.
  const stdout = options.http === undefined ? takeStdout() : undefined;
  const stop = takeStopSignals(() => undefined);
  const opened = await openGateway(served, options, context);
  try {
    if (stdout === undefined) await serveHttp(opened, options, { context, until: stop.asked });
    else await serveStdio(opened, stdout.stream, stop.asked);
  } finally {
    stop.release();
    await opened.close();
    stdout?.release();
  }
}

/** The time in which a client that starts asks for the list of tools, in milliseconds. */
const BEGIN_MS = 300;

type Opened = Awaited<ReturnType<typeof openGateway>>;

async function serveStdio(
  { gateway, who, begin, onToolsChanged }: Opened,
  stdout: Writable,
  stopped: Promise<unknown>,
) {
  const library = await import('@modelcontextprotocol/server');
  const stdio = await import('@modelcontextprotocol/server/stdio');
  const { createProtocol } = await import('../../gateway/protocol.js');
  const { version } = manifest();
  const transport = new stdio.StdioServerTransport(process.stdin, stdout);
  const handle = stdio.serveStdio(
    () => {
      const server = createProtocol({ library, gateway, version, who });
      onToolsChanged(() => void server.sendToolListChanged().catch(() => undefined));
      return server;
    },
    { transport },
  );
  // The transport closes with its input, and when it cannot go on: a message is too long, or nobody reads what it writes.
  const { onclose } = transport;
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  // A client waits for the list of tools, and nothing that it does not need for that may take its time.
  const later = setTimeout(begin, BEGIN_MS);
  await Promise.race([closed, stopped]);
  clearTimeout(later);
  await handle.close();
  await gateway.settled();
}

async function serveHttp(
  { gateway, config, usersFile, permitOf, signInBy, begin, onToolsChanged }: Opened,
  { http = '0', signIn: file }: ServeOptions,
  { context: { screen }, until }: { context: Context; until: Promise<unknown> },
) {
  const { serveHttp: start } = await import('../../gateway/http.js');
  const { readListenAddress } = await import('../../server/probes.js');
  const address = http === '0' ? { host: LOOPBACK_HOST, port: 0 } : readListenAddress(http, 'MCP');
  const signIn = file === undefined ? undefined : await signInBy(file);
  const running = await start({
    gateway,
    usersFile,
    permitOf,
    signIn,
    ...address,
    hookTools: config.hookTools,
    version: manifest().version,
    report: (error) => screen.note(`the gateway failed: ${String(error)}`),
  });
  begin();
  onToolsChanged(running.toolsChanged);
  screen.lines([`MCP is at ${running.url}/mcp, for users with a token.`, 'Ctrl-C ends the gateway.']);
  await until;
  await running.stop();
}

async function printEntry(
  client: Parameters<typeof installLines>[0],
  { server, agent }: Served,
  { config, http, worker, record }: ServeOptions,
  { screen, env }: Context,
) {
  refuseOptions({ http }, 'and --print exclude each other');
  const { file } = await loadConfig(config);
  const [command = '', ...words] = programName(env).split(' ');
  const named = server === undefined ? [] : [server];
  const what = agent === undefined ? named : ['--agent', agent];
  const how = [...(worker ? [] : ['--no-worker']), ...(record === undefined ? [] : ['--record', record])];
  const args = [...words, 'mcp', 'gateway', ...what, '--config', file, ...how];
  screen.lines(installLines(client, { name: server ?? agent ?? 'countersign', command, args }));
}
