import type { Command } from 'commander';
import type { BuildId, Countersign, Drained } from '../../client';
import { usageError } from '../../contract/errors';
import { shellWord } from '../../contract/text/shell-word';
import type { Context } from '../context';
import { EXIT } from '../exit-codes';
import { deploymentOption } from '../flags';
import { withWaitingNote } from '../progress';
import type { Screen } from '../print/screen';
import { escapeText } from '../../contract/text/escape';

interface DeployOptions {
  deployment?: string;
  drain?: string;
}

/** `deploy [build]`. */
export function addDeploy(program: Command, context: Context): void {
  program
    .command('deploy [build]')
    .description('make a build the current one, on which new turns begin; move what waits to it')
    .addOption(deploymentOption())
    .option('--drain <build>', 'move idle sessions, and turns that only wait for people, from this build')
    .action((build: string | undefined, options: DeployOptions) => deploy(build, options, context));
}

async function deploy(build: string | undefined, options: DeployOptions, context: Context) {
  const { deployment, drain: old } = options;
  if (build === undefined && old === undefined)
    throw usageError('name the build to make current, or one to --drain');
  const { screen, json, exitWith } = context;
  await context.withClient(async (client) => {
    const made = build === undefined ? undefined : await makeCurrent(client, { build, deployment }, screen);
    if (made && !json) screen.lines(currentLines(made, options, context));
    const drained = old === undefined ? undefined : await drain(client, { build: old, deployment }, context);
    if (json) screen.json({ ...made, drained });
    if (drained?.some(({ outcome }) => outcome === 'held') === true) exitWith(EXIT.waiting);
  });
}

/** The current build, and the one that was current before. */
interface MadeCurrent {
  current: string;
  before: string | null;
}

async function makeCurrent(client: Countersign, build: BuildId, screen: Screen): Promise<MadeCurrent> {
  const { current: before = null } = (await client.builds(build.deployment)) ?? {};
  const say = () => `waiting for a worker of build ${escapeText(build.build)}`;
  await withWaitingNote(screen, say, () => client.makeCurrent(build));
  return { current: build.build, before };
}

function currentLines(
  { current, before }: MadeCurrent,
  { deployment, drain: old }: DeployOptions,
  { command }: Context,
): string[] {
  const lines = [`${escapeText(current)} is the current build; new turns begin on it`];
  if (before === null || before === current || old !== undefined) return lines;
  const of = deployment === undefined ? '' : ` --deployment ${shellWord(deployment)}`;
  return [
    ...lines,
    `Move what waits on ${escapeText(before)}: ${command(`deploy --drain ${shellWord(before)}${of}`)}`,
  ];
}

async function drain(client: Countersign, build: BuildId, { screen, json }: Context): Promise<Drained[]> {
  const all: Drained[] = [];
  for await (const drained of client.drain(build)) {
    all.push(drained);
    if (!json) screen.line(drainedLine(drained));
  }
  if (!json) screen.line(summaryLine(build.build, all));
  return all;
}

/** The result of a drain for one turn or session, in one line. */
export function drainedLine(drained: Drained): string {
  const id = escapeText(drained.id);
  return drained.outcome === 'held'
    ? `${id} is held: ${escapeText(drained.reason)}`
    : `${id} ${drained.outcome}`;
}

function summaryLine(build: string, all: readonly Drained[]) {
  const of = (outcome: Drained['outcome']) => all.filter((one) => one.outcome === outcome).length;
  const held = of('held');
  const rest = held === 0 ? '' : `; ${held} held, so its worker is still needed: drain again later`;
  return `build ${escapeText(build)}: ${of('moved')} moved${rest}`;
}
