import type { Command } from 'commander';
import { DEPLOYMENT, TASK_QUEUE } from '../../contract/names';
import type { Config } from '../../tools/define-config';
import type { Context } from '../context';
import {
  checkCli,
  checked,
  checkConfig,
  checkJournal,
  checkModels,
  checkNode,
  checkProxies,
  checkSdk,
  failed,
  type Finding,
  SERVER,
} from '../doctor/machine';
import { EXIT, type ExitCode } from '../exit-codes';
import { deploymentOption, refuseOptions } from '../flags';
import type { ScreenFormat } from '../print/screen';
import { escapeText, escapeLines } from '../../contract/text/escape';
import { widthOf, wrap } from '../../contract/text/columns';
import { findProgram } from '../../tools/sandbox/bubblewrap';

/** `doctor [config]`. */
export function addDoctor(program: Command, context: Context): void {
  program
    .command('doctor [config]')
    .description('check what is installed, reachable and registered, and say how to fix the rest')
    .addHelpText('after', '\nA config is a program, so doctor runs only one that you name.')
    .addOption(deploymentOption())
    .option('--channels <file>', 'a file of channels to check (default: notify.yaml, if it exists)')
    .option('--send [channel]', 'instead: send a test over each of these channels, or over one, to --as')
    .option('--setup', 'instead: register the search attributes that turns need; a worker does it too')
    .option('--sign-in <file>', 'also check what a sign-in file of the web inbox names')
    .action((config: string | undefined, options: DoctorOptions) =>
      options.setup === true ? setup(options, context) : doctor(config, options, context),
    );
}

interface DoctorOptions {
  deployment?: string;
  channels?: string;
  send?: string | true;
  setup?: boolean;
  signIn?: string;
}

async function doctor(
  named: string | undefined,
  { channels, send, ...looks }: DoctorOptions,
  context: Context,
) {
  if (send !== undefined) refuseOptions(looks, 'and --send exclude each other');
  const findings =
    send === undefined
      ? await examine(named, { channels, ...looks }, context)
      : await sendTests(channels, send, context);
  context.print(findings, () => findingLines(findings, context.screen).map(context.typed));
  context.exitWith(verdictOf(findings));
}

async function sendTests(
  channels: string | undefined,
  send: string | true,
  { env, screen, as: to }: Context,
): Promise<Finding[]> {
  const { checkChannels } = await import('../doctor/notify.js');
  const warn = (line: string) => screen.note(escapeText(line));
  return checkChannels(channels, env, { only: send === true ? undefined : send, to, warn });
}

async function examine(
  named: string | undefined,
  { deployment = DEPLOYMENT, channels, signIn }: DoctorOptions,
  context: Context,
): Promise<Finding[]> {
  const { finding, config } = await checkConfig(named);
  const machine = [
    ...[checkNode(), checkSdk(), await checkCli(context.env)],
    ...checkProxies(context.env),
    finding,
  ];
  const journal = config ? [...(await checkModels(config)), await checkJournal(config)] : [];
  const { checkMcp } = await import('../doctor/mcp.js');
  const servers = config?.mcpServers === undefined ? [] : await checkMcp(config);
  const { checkChannels } = await import('../doctor/notify.js');
  const { checkSandbox } = await import('../doctor/sandbox.js');
  return [
    ...(signIn === undefined ? [] : await checkSignIn(signIn, context.env)),
    ...machine,
    ...journal,
    await checkSandbox(),
    ...checkParts(),
    ...servers,
    ...(await checkChannels(channels, context.env)),
    ...(await examineServer(config, deployment, context)),
  ];
}

async function examineServer(
  config: Config | undefined,
  deployment: string,
  context: Context,
): Promise<Finding[]> {
  const { queuesOf } = await import('../../tools/define-config.js');
  const queues = config ? queuesOf(config) : [TASK_QUEUE];
  try {
    return await context.withClient(async (client) => {
      context.screen.note('looking at the server; a few seconds');
      const { checkServer } = await import('../doctor/server.js');
      return checkServer(client, queues, deployment);
    });
  } catch (error) {
    const detail = 'what is registered, paused and polled there: needs the server';
    return [failed(SERVER, error), { name: 'the rest', state: 'skipped', detail }];
  }
}

/** The exit code: 5 if there is no server, 1 if any other finding is bad. */
export function verdictOf(findings: readonly Finding[]): ExitCode {
  const bad = findings.filter(({ state }) => state === 'bad');
  if (bad.some(({ name }) => name === SERVER)) return EXIT.noServer;
  return bad.length > 0 ? EXIT.failed : EXIT.done;
}

const MARKS = { ok: 'ok', warning: 'note', bad: 'bad', skipped: '-' } as const;

/** Findings as aligned lines. The line below a finding says what to do. */
export function findingLines(findings: readonly Finding[], { width, style }: ScreenFormat): string[] {
  const named = Math.max(...findings.map(({ name }) => widthOf(escapeText(name))));
  const paints = { ok: style.good, warning: style.warn, bad: style.bad, skipped: style.quiet };
  return findings.flatMap(({ name, state, detail, todo }) => {
    const head = `${paints[state](MARKS[state].padEnd(5))} ${escapeText(name).padEnd(named + 2)}`;
    const room = width - named - 8;
    const pad = ' '.repeat(room < 20 ? 6 : named + 8);
    const lines = wrap(escapeText(detail), room < 20 ? width - 6 : room);
    const todos = todo === undefined ? [] : escapeLines(todo).map((line) => pad + style.quiet(line));
    if (room < 20) return [head.trimEnd(), ...lines.map((line) => pad + line), ...todos];
    return [head + (lines[0] ?? ''), ...lines.slice(1).map((line) => pad + line), ...todos];
  });
}

/** Registers everything that the checks find missing. */
async function setup({ setup: _, ...others }: DoctorOptions, { screen, json, withClient }: Context) {
  refuseOptions(others, 'and --setup exclude each other');
  const { ensureAttributes } = await import('../../engine/search-attributes.js');
  const { startControl } = await import('../../authority/pauses/client.js');
  await withClient(async ({ client, namespace }) => {
    screen.note('waiting until queries take each attribute; some seconds');
    const registered = await ensureAttributes({ connection: client.connection, namespace });
    await startControl(client);
    if (json) screen.json({ namespace, registered });
    else if (registered.length === 0) screen.line(`${escapeText(namespace)} has all search attributes`);
    else screen.line(`${escapeText(namespace)} now has ${registered.join(', ')}`);
  });
}

/** Whether a sign-in file can be used, and whether the issuer that it names can be reached from here. */
export async function checkSignIn(file: string, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  try {
    const { readSignInFile } = await import('../sign-in-file.js');
    const { oidc, publicUrl } = await readSignInFile(file, env);
    if (oidc === undefined) return [];
    const { createOidc } = await import('../../server/auth/oidc.js');
    const { issuer } = oidc;
    const finding = await checked('issuer', async () => {
      await createOidc(oidc, publicUrl).check();
      return { state: 'ok', detail: `${issuer} answers` };
    });
    return [finding];
  } catch (error) {
    return [failed('sign-in file', error)];
  }
}

/** What only some things need: its program, what needs it, packages of Debian and Ubuntu, and its name if that is another. */
type Part = readonly [program: string, need: string, packages: string, name?: string];

const PARTS: readonly Part[] = [
  ['ssh-keygen', 'signing decisions and grants (`--sign`)', 'openssh-client'],
  ['sbcl', 'the Lisp pack', 'sbcl cl-swank', 'SBCL'],
  ['go', "building Temporal's server where it cannot be downloaded", 'golang', 'Go'],
];

/** Which programs of the system are here, and what the others would be for. A missing program is not a failure. */
export function checkParts(path?: string): Finding[] {
  return PARTS.map(([program, need, packages, name = program]) => {
    const file = findProgram(program, path);
    if (file !== undefined) return { name, state: 'ok', detail: `${file}, for ${need}` };
    const todo = `Only if you want that (Debian, Ubuntu): apt-get install ${packages}`;
    return { name, state: 'skipped', detail: `not here; it is for ${need}`, todo };
  });
}
