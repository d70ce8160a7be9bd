import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { freePorts } from '../../src/engine/server-args';
import { listens } from '../cli/cli-worker';
import { startCli, type Ended } from '../cli/process';
import { runCli } from '../cli/run-cli';

/** An example that runs as its README says: `countersign dev`, with a server of its own. */
export interface RunningExample {
  /** A folder for what it writes; removed when it is stopped. */
  folder: string;
  cli(...args: string[]): Promise<Ended>;
  /** Starts a turn and returns its id once it waits for a person. */
  waiting(agent: string, prompt: string): Promise<string>;
  /** Follows a turn to its end and returns what was printed. */
  end(turn: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts `examples/<name>/agent.ts`; `variable` names where it keeps its data, `more` is what else it is told. */
export async function startExample(
  name: string,
  variable: string,
  more: Readonly<Record<string, string>> = {},
): Promise<RunningExample> {
  const scratch = await mkdtemp(join(tmpdir(), 'countersign-example-'));
  const folder = join(scratch, name);
  const [port = 0, uiPort = 0] = await freePorts(2);
  const ports = ['--port', String(port), '--ui-port', String(uiPort)];
  const env = { ...more, [variable]: folder, XDG_STATE_HOME: scratch };
  const args = ['dev', `examples/${name}/agent.ts`, ...ports, '--data-dir', join(scratch, 'server')];
  const dev = startCli(args, { env });
  await listens(dev);
  const cli = (...words: string[]) => runCli([...words, '--address', `127.0.0.1:${port}`]);
  return {
    folder,
    cli,
    waiting: async (agent, prompt) => {
      const turn = `example-${randomUUID()}`;
      const { code, err } = await cli('run', agent, prompt, '--id', turn, '--wait', '0');
      expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining('[still_waiting]') });
      return turn;
    },
    end: async (turn) => {
      const { code, out, err } = await cli('show', turn, '--follow');
      // What takes seconds is said while it runs.
      const rest = err.replace(/^… .*\n/gm, '');
      expect({ code, rest }).toEqual({ code: 0, rest: '' });
      return out;
    },
    stop: async () => {
      dev.signal('SIGINT');
      const { code, err } = await dev.ended;
      await rm(scratch, { recursive: true, force: true });
      expect({ code, err }).toEqual({ code: 0, err: expect.not.stringMatching(/\n\s+at |\[unexpected\]/) });
    },
  };
}
