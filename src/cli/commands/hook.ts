import { Argument, type Command } from 'commander';
import { LOOPBACK_HOST } from '../../system/loopback';
import { shellWord } from '../../contract/text/shell-word';
import { errorMessage, usageError } from '../../contract/errors';
import type { HookedAgent } from '../../gateway/hooks';
import type { Context } from '../context';
import { EXIT } from '../exit-codes';
import { readCount, readText, refuseOptions } from '../flags';
import { loadConfig } from '../load-config';
import { openGateway, workerOption } from '../open-gateway';
import { programName } from '../own-modules';
import { takeStopSignals } from '../stop-signals';
import { takeStdout } from '../take-stdout';

interface HookOptions {
  config?: string;
  worker: boolean;
  print?: boolean;
  http?: string;
}

/** `hook <agent>`. */
export function addHook(program: Command, context: Context): void {
  program
    .command('hook')
    .description("put a coding agent's own tools behind the gate: answer one of its hooks")
    .addArgument(new Argument('<agent>', 'the coding agent').choices(['claude-code', 'codex']))
    .option('--config <file>', 'the config (default: countersign.config.ts and the like)')
    .addOption(workerOption())
    .option('--print', 'instead: print the settings of the hook; writes nothing')
    .option('--http <port>', 'with --print: ask a gateway on this port')
    .action((agent: HookedAgent, options: HookOptions) => {
      if (options.print === true) return printSettings(agent, options, context);
      refuseOptions({ http: options.http }, 'goes with --print');
      return answer(agent, options, context);
    });
}

/** Answers one event. Whatever fails is a denial, because an agent runs a call whose hook failed. */
async function answer(agent: HookedAgent, options: HookOptions, context: Context) {
  const stdout = takeStdout();
  const stop = takeStopSignals(() => undefined);
  let opened: Awaited<ReturnType<typeof openGateway>> | undefined;
  // What an agent does after an exit code that it does not know is to run the call.
  const block = () => process.exit(EXIT.usage);
  process.once('uncaughtException', block).once('unhandledRejection', block);
  const { answerHook, claudeCodeOutput, codexRefusal } = await import('../../gateway/hooks.js');
  try {
    const text = await readText('@-', 'the event', context);
    const loaded = await loadConfig(options.config).catch((error: unknown) => {
      throw new Error(`the config cannot be used: ${errorMessage(error)}`);
    });
    const { hookTools } = loaded.config;
    const open = async () => (opened = await openGateway({}, options, context, loaded)).gateway;
    finish(agent, await answerHook(text, { hookTools, open, who: context.as, signal: stop.signal }));
  } catch (error) {
    finish(agent, { answer: 'deny', reason: `Countersign: ${errorMessage(error)}` });
  } finally {
    stop.release();
    stdout.release();
    await opened?.close().catch((error: unknown) => context.screen.note(errorMessage(error)));
    process.off('uncaughtException', block).off('unhandledRejection', block);
  }

  function finish(of: HookedAgent, answered: Awaited<ReturnType<typeof answerHook>>): void {
    if (of === 'claude-code')
      return void stdout.stream.write(`${JSON.stringify(claudeCodeOutput(answered))}\n`);
    const refusal = codexRefusal(answered);
    if (refusal === undefined) return;
    context.screen.note(refusal);
    context.exitWith(EXIT.usage);
  }
}

async function printSettings(
  agent: HookedAgent,
  { config: named, http, worker }: HookOptions,
  { screen, env }: Context,
) {
  const { config, file } = await loadConfig(named);
  const { hookSettings } = await import('../../gateway/hooks.js');
  const tools = Object.keys(config.hookTools);
  if (tools.length === 0)
    throw usageError('the config names no `hookTools`', 'Name them, such as `hookTools: { Bash: {} }`.');
  if (agent === 'codex' && http !== undefined)
    throw usageError('Codex takes commands only; leave --http out');
  const how =
    http === undefined
      ? {
          command: `${programName(env)} hook ${agent} --config ${shellWord(file)}${worker ? '' : ' --no-worker'}`,
        }
      : { url: `http://${LOOPBACK_HOST}:${readCount(http, '--http')}/hooks/${agent}` };
  const where = agent === 'codex' ? '~/.codex/hooks.json' : '.claude/settings.json';
  screen.lines([`Add this to ${where}:`, '', JSON.stringify(hookSettings(agent, tools, how), null, 2)]);
}
