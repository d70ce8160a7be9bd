import type { Command } from 'commander';
import type { Drained } from '../../client';
import { shellWord } from '../../contract/text/shell-word';
import type { Context } from '../context';
import { EXIT } from '../exit-codes';
import { deploymentOption, readTime } from '../flags';
import { escapeText } from '../../contract/text/escape';

interface DeployOptions {
  deployment?: string;
}

/** `deploy current <build>`. */
export function addDeploy(program: Command, context: Context): void {
  const deploy = program.command('deploy').description('which build of the worker new turns begin on');
  deploy
    .command('current <build>')
    .description('make a build the current one; turns that are open stay on theirs until `drain`')
    .addOption(deploymentOption())
    .action((build: string, options: DeployOptions) => makeCurrent(build, options, context));
}

async function makeCurrent(
  build: string,
  { deployment }: DeployOptions,
  { screen, json, withClient, command }: Context,
): Promise<void> {
  await withClient(async (client) => {
    const { current: before = null } = (await client.builds(deployment)) ?? {};
    await client.makeCurrent({ build, deployment });
    if (json) return screen.json({ current: build, before });
    screen.line(`${escapeText(build)} is the current build; new turns begin on it`);
    if (before === null || before === build) return;
    const of = deployment === undefined ? '' : ` --deployment ${shellWord(deployment)}`;
    screen.line(`Move what waits on ${escapeText(before)}: ${command(`drain ${shellWord(before)}${of}`)}`);
  });
}

interface DrainOptions extends DeployOptions {
  spread?: string;
}

/** `drain <build>`. */
export function addDrain(program: Command, context: Context): void {
  program
    .command('drain <build>')
    .description('move idle sessions, and turns that only wait for people, from a build to the current one')
    .addOption(deploymentOption())
    .option('--spread <time>', 'over how long they are spread (default: 20 turns a second)')
    .action((build: string, options: DrainOptions) => drain(build, options, context));
}

async function drain(build: string, options: DrainOptions, context: Context): Promise<void> {
  const { deployment, spread } = options;
  const { screen, json, exitWith } = context;
  const spreadMs = spread === undefined ? undefined : readTime(spread, '--spread', 0);
  await context.withClient(async (client) => {
    const all: Drained[] = [];
    const asked = client.drain({ build, deployment }, { spreadMs });
    for await (const drained of asked) {
      all.push(drained);
      if (!json) screen.line(drainedLine(drained));
    }
    if (json) screen.json(all);
    else screen.line(summaryLine(build, all));
    if (all.some(({ outcome }) => outcome === 'held')) exitWith(EXIT.waiting);
  });
}

/** The result of a drain for one turn or session, in one line. */
export function drainedLine(drained: Drained): string {
  const id = escapeText(drained.id);
  return drained.outcome === 'held'
    ? `${id} is held: ${escapeText(drained.reason)}`
    : `${id} ${drained.outcome}`;
}

function summaryLine(build: string, all: readonly Drained[]): string {
  const of = (outcome: Drained['outcome']): number => all.filter((one) => one.outcome === outcome).length;
  const held = of('held');
  const rest = held === 0 ? '' : `; ${held} held, so its worker is still needed: drain again later`;
  return `build ${escapeText(build)}: ${of('moved')} moved${rest}`;
}
