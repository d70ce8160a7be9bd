import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { TASK_QUEUE } from '../../contract/names';
import type { Config } from '../../tools/define-config';
import type { Context } from '../context';
import { hintOf, reason, type Finding } from '../doctor/check';
import { EXIT } from '../exit-codes';
import type { Screen } from '../print/screen';
import { visible, visibleLines } from '../print/visible';
import { widthOf, wrap } from '../print/width';

/** `doctor [config]`. */
export function addDoctor(program: Command, context: Context): void {
  program
    .command('doctor [config]')
    .description('check what is installed, reachable and registered, and say what to do about what is not')
    .option('--json', 'print JSON')
    .action((config: string | undefined, options: { json?: boolean }) => doctor(config, options, context));
}

async function doctor(
  named: string | undefined,
  { json }: { json?: boolean },
  context: Context,
): Promise<void> {
  const findings = await examine(named, context);
  if (json === true) context.screen.json(findings);
  else context.screen.lines(findingLines(findings, context.screen));
  process.exitCode = verdictOf(findings);
}

async function examine(named: string | undefined, context: Context): Promise<Finding[]> {
  const { checkCli, checkConfig, checkNode } = await import('../doctor/machine.js');
  const { finding, config } = await checkConfig(named);
  const machine = [checkNode(), await checkCli(context.env), finding];
  return [...machine, ...(await examineServer(config, context))];
}

async function examineServer(config: Config | undefined, context: Context): Promise<Finding[]> {
  const queues = queuesOf(config);
  try {
    return await context.withDesk((desk) => {
      context.screen.note('looking at the server; a few seconds');
      return lookAt(desk, queues);
    });
  } catch (error) {
    const rest = ['search attributes', 'transitions', ...queues.map((queue) => `queue ${queue}`)];
    return [
      { name: SERVER, state: 'bad', detail: reason(error), ...hintOf(error) },
      ...rest.map((name): Finding => ({ name, state: 'skipped', detail: 'needs the server' })),
    ];
  }
}

async function lookAt(desk: Countersign, queues: readonly string[]): Promise<Finding[]> {
  const { checkAttributes, checkQueue, requireAccess } = await import('../doctor/server.js');
  const { checkTransitions } = await import('../doctor/transition.js');
  await requireAccess(desk);
  return [
    { name: SERVER, state: 'ok', detail: `answers; namespace ${desk.namespace}` },
    await checkAttributes(desk),
    await checkTransitions(desk),
    ...(await Promise.all(queues.map((queue, at) => checkQueue(desk, queue, at === 0)))),
  ];
}

const SERVER = 'server';

function queuesOf(config: Config | undefined): string[] {
  const main = config?.taskQueue ?? TASK_QUEUE;
  const tools = config?.agents.flatMap((agent) => agent.registry.list()) ?? [];
  return [...new Set([main, ...tools.map((tool) => tool.taskQueue ?? main)])];
}

/** 5 without a server, 1 with anything else bad. */
export function verdictOf(findings: readonly Finding[]): number {
  const bad = findings.filter(({ state }) => state === 'bad');
  if (bad.some(({ name }) => name === SERVER)) return EXIT.noServer;
  return bad.length > 0 ? EXIT.failed : EXIT.done;
}

const MARKS = { ok: 'ok', warning: 'note', bad: 'bad', skipped: '-' } as const;

/** Findings as aligned lines, each with what to do below it. */
export function findingLines(
  findings: readonly Finding[],
  { width, style }: Pick<Screen, 'width' | 'style'>,
): string[] {
  const named = Math.max(...findings.map(({ name }) => widthOf(visible(name))));
  const paints = { ok: style.good, warning: style.warn, bad: style.bad, skipped: style.quiet };
  return findings.flatMap(({ name, state, detail, todo }) => {
    const head = `${paints[state](MARKS[state].padEnd(5))} ${visible(name).padEnd(named + 2)}`;
    const room = width - named - 8;
    const pad = ' '.repeat(room < 20 ? 6 : named + 8);
    const lines = wrap(visible(detail), room < 20 ? width - 6 : room);
    const todos = todo === undefined ? [] : visibleLines(todo).map((line) => pad + style.quiet(line));
    if (room < 20) return [head.trimEnd(), ...lines.map((line) => pad + line), ...todos];
    return [head + (lines[0] ?? ''), ...lines.slice(1).map((line) => pad + line), ...todos];
  });
}
