import { fork, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../../own-modules';
import { stuckAnswer, type Answer, type Ask, type Setup } from './messages';

/** What the process that replays is given, and its environment. */
export interface Apart {
  setup: Setup;
  env: NodeJS.ProcessEnv;
}

const PROGRAM = join(ROOT, 'lib', 'cli', 'replay', 'apart', 'process.js');

/** The process that replays. It ends with the one that started it. */
export class Keeper {
  private readonly child: ChildProcess;
  private readonly answers: AsyncIterator<Answer[]>;
  private readonly ended: Promise<Answer>;

  constructor({ setup, env }: Apart) {
    // Without the flags of this process, such as a debugger's, and without what Node prints when memory runs out.
    const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const;
    this.child = fork(PROGRAM, { env, execArgv: [], serialization: 'advanced', stdio: [...stdio] });
    this.answers = on(this.child, 'message');
    this.ended = endOf(this.child);
    this.send(setup);
  }

  /** Replays a run after those that were asked for before. Where the process ends all that still wait get the same answer. */
  replay(ask: Ask): Promise<Answer> {
    this.send(ask);
    return Promise.race([this.answer(), this.ended]);
  }

  private async answer(): Promise<Answer> {
    const { value } = await this.answers.next();
    return value[0];
  }

  end(): void {
    this.child.kill('SIGKILL');
  }

  private send(message: Setup | Ask): void {
    // A process that is gone hears nothing; its end is told by itself.
    this.child.send(message, () => undefined);
  }
}

/** Where memory runs out in one go, the process is gone before it can tell where it was. */
async function endOf(child: ChildProcess): Promise<Answer> {
  try {
    const [code, signal] = await once(child, 'exit');
    // So ends Node where a program of ours fails.
    if (code === 1) return { broken: 'the process that replays has failed' };
    const how = `ends the process that runs it (${signal ?? code}), as it does where memory runs out`;
    return stuckAnswer({ startedId: FIRST, how });
  } catch (error) {
    return { broken: `the process that replays cannot be started: ${String(error)}` };
  }
}

const FIRST = 1;
