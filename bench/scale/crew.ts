import { join } from 'node:path';
import { startScript, type WorkerProcess } from '../worker';

const SCRIPT = join(__dirname, 'worker-process.ts');
const WORKERS = 2;

/** Where its workers work. */
export interface CrewPlace {
  address: string;
  ledger: string;
  directory: string;
  /** So many turns stay in the memory of each. @default what the SDK works out */
  cached: number | undefined;
}

/** Two workers, each a process of its own. */
export class Crew {
  private workers: readonly WorkerProcess[] = [];
  private isEnded = false;
  private fail: (error: unknown) => void = () => undefined;
  /** Rejects when one ends without being killed from here. */
  readonly died = new Promise<never>((_, reject) => (this.fail = reject));

  constructor(private readonly place: CrewPlace) {
    // It may end while nobody waits for it.
    this.died.catch(() => undefined);
  }

  get pids(): number[] {
    return this.workers.map(({ pid }) => pid);
  }

  /** Starts both, and waits until they work. */
  async start(): Promise<void> {
    const { address, ledger, directory, cached } = this.place;
    const args = [address, ledger, join(directory, 'state'), String(cached ?? '')];
    const starts = Array.from({ length: WORKERS }, () => startScript(SCRIPT, args, { TMPDIR: directory }));
    this.workers = await Promise.all(starts);
    for (const { died } of this.workers) died.catch(this.fail);
    // The run was ended meanwhile.
    if (this.isEnded) await this.kill();
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
  }

  /** Kills them, and those that are being started. */
  async end(): Promise<void> {
    this.isEnded = true;
    await this.kill();
  }
}
