import type { Writable } from 'node:stream';
import { Argument, type Command, Option } from 'commander';
import { LOOPBACK_HOST } from '../../system/loopback';
import { CLIENTS, installLines, type McpClient } from '../../gateway/install';
import type { Served } from '../../gateway/tools';
import type { Context } from '../context';
import { readCount } from '../flags';
import { loadConfig } from '../load-config';
import { type GatewayOptions, httpOption, openGateway, workerOption } from '../open-gateway';
import { manifest, programName } from '../own-modules';
import { takeStopSignals } from '../stop-signals';
import { takeStdout } from '../take-stdout';

interface ServeOptions extends GatewayOptions {
  http?: string;
  host?: string;
}

/** `mcp gateway [server]`, `mcp serve <agent>` and `mcp install <client>`. */
export function addGateway(mcp: Command, context: Context): void {
  const add = (name: string, about: string): Command =>
    mcp
      .command(name)
      .description(about)
      .option('--config <file>', 'the config (default: countersign.config.ts and the like)')
      .addOption(httpOption())
      .option('--host <address>', `with --http: the address to listen on (default: ${LOOPBACK_HOST})`)
      .addOption(workerOption())
      .addOption(new Option('--record <calls>', 'record safe calls, too').choices(['all']));
  add(
    'gateway [server]',
    'serve the allowed MCP servers, or one under its own names, through the gate',
  ).action((server: string | undefined, options: ServeOptions) => serve({ server }, options, context));
  add('serve <agent>', "serve an agent's tools through the gate").action(
    (agent: string, options: ServeOptions) => serve({ agent }, options, context),
  );
  mcp
    .command('install')
    .description('print how a client starts the gateway; writes nothing')
    .addArgument(new Argument('<client>', 'the client').choices(CLIENTS))
    .argument('[server]', 'only this MCP server')
    .option('--config <file>', 'the config (default: countersign.config.ts and the like)')
    .action((client: McpClient, server: string | undefined, options: { config?: string }) =>
      install(client, server, options, context),
    );
}

async function serve(served: Served, options: ServeOptions, context: Context): Promise<void> {
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
): Promise<void> {
  const library = await import('@modelcontextprotocol/server');
  const stdio = await import('@modelcontextprotocol/server/stdio');
  const { createProtocol } = await import('../../gateway/protocol.js');
  const { version } = manifest();
  const transport = new stdio.StdioServerTransport(process.stdin, stdout);
  const ended = new Promise((resolve) => process.stdin.once('close', resolve).once('end', resolve));
  const handle = stdio.serveStdio(
    () => {
      const server = createProtocol({ library, gateway, version, who });
      onToolsChanged(() => void server.sendToolListChanged().catch(() => undefined));
      return server;
    },
    { transport },
  );
  // A client waits for the list of tools, and nothing that it does not need for that may take its time.
  const later = setTimeout(begin, BEGIN_MS);
  await Promise.race([ended, stopped]);
  clearTimeout(later);
  await handle.close();
  await gateway.settled();
}

async function serveHttp(
  { gateway, config, usersFile, permitOf, begin, onToolsChanged }: Opened,
  { http = '0', host = LOOPBACK_HOST }: ServeOptions,
  { context: { screen }, until }: { context: Context; until: Promise<unknown> },
): Promise<void> {
  const { serveHttp: start } = await import('../../gateway/http.js');
  const running = await start({
    ...{ gateway, host, usersFile, permitOf, port: readCount(http, '--http', 0) },
    ...{ hookTools: config.hookTools, version: manifest().version },
    report: (error) => screen.note(`the gateway failed: ${String(error)}`),
  });
  begin();
  onToolsChanged(running.toolsChanged);
  screen.lines([`MCP is at ${running.url}/mcp, for users with a token.`, 'Ctrl-C ends the gateway.']);
  await until;
  await running.stop();
}

async function install(
  client: McpClient,
  server: string | undefined,
  { config: named }: { config?: string },
  { screen, env }: Context,
): Promise<void> {
  const { file } = await loadConfig(named);
  const [command = '', ...words] = programName(env).split(' ');
  const args = [...words, 'mcp', 'gateway', ...(server === undefined ? [] : [server]), '--config', file];
  screen.lines(installLines(client, { name: server ?? 'countersign', command, args }));
}
