import { fork, type ChildProcess } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const JITI = join(__dirname, '..', '..', 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');
const SCRIPT = join(__dirname, 'worker-process.ts');

/** Workers in processes of their own. One that ends is started again, whoever ended it. */
export class Crew {
  private readonly workers: ChildProcess[] = [];
  private readonly ready = new Set<ChildProcess>();
  private isEnded = false;
  private readonly log: number;
  /** How those ended that nobody here killed. */
  readonly ended: string[] = [];
  /** Who stood still, and from when to when. */
  readonly frozen: { pid: number; from: number; to: number }[] = [];

  constructor(
    count: number,
    private readonly args: readonly string[],
    logFile: string,
  ) {
    this.log = openSync(logFile, 'a');
    for (let n = 0; n < count; n++) this.start(n);
  }

  private start(n: number): void {
    if (this.isEnded) return;
    const stdio = ['ignore', this.log, this.log, 'ipc'] as const;
    const child = fork(SCRIPT, this.args, { execArgv: [JITI], stdio: [...stdio] });
    this.workers[n] = child;
    child.once('message', () => this.ready.add(child));
    child.once('exit', (code, signal) => {
      this.ready.delete(child);
      if (signal !== 'SIGKILL') this.ended.push(String(signal ?? code));
      void delay(Math.random() * 1000).then(() => this.start(n));
    });
  }

  private any(): ChildProcess | undefined {
    return this.workers[Math.floor(Math.random() * this.workers.length)];
  }

  /** kill -9 of one that works, or now and then of any: where all are killed while they start, nothing happens. */
  kill(): boolean {
    const working = [...this.ready];
    const isAny = Math.random() < 0.15;
    const child = isAny ? this.any() : working[Math.floor(Math.random() * working.length)];
    return child?.kill('SIGKILL') ?? false;
  }

  async freeze(): Promise<void> {
    const [child] = this.ready;
    if (child?.pid === undefined) return;
    const from = Date.now();
    child.kill('SIGSTOP');
    await delay(5000 + Math.random() * 7000);
    child.kill('SIGCONT');
    this.frozen.push({ pid: child.pid, from, to: Date.now() });
  }

  /** Kills the program of one worker. */
  killProgram(): void {
    const parent = this.any()?.pid;
    const child = readdirSync('/proc').find((name) => {
      if (!/^\d+$/.test(name)) return false;
      try {
        const isOurs = readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('mcp-ledger');
        return (
          isOurs &&
          readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(parent)
        );
      } catch {
        return false;
      }
    });
    if (child !== undefined) process.kill(Number(child), 'SIGKILL');
  }

  /** Kills them all, and starts none any more. */
  end(): void {
    this.isEnded = true;
    for (const worker of this.workers) worker.kill('SIGKILL');
  }
}
