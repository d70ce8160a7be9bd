/** `npm run example -- lisp [prompt]`: one example with a server of its own; asks it once, shows the turn, and ends. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgres } from './cluster-parts.mjs';
import { startPostgres } from './cluster-postgres.mjs';
import { at, exitWith, root } from './root.mjs';
import { runShown } from './run.mjs';

/**
 * The agent of each example, and what it is asked, one turn after the other, unless you ask something else. `as`: who asks.
 * `needs`: starts what the agent needs besides and returns where that is, as environment variables.
 */
const EXAMPLES = {
  lisp: { agent: 'lisper', asks: [{ prompt: 'What does the function `defun` do?' }] },
  maintainer: { agent: 'maintainer', asks: [{ prompt: 'make the tests pass' }] },
  memory: {
    agent: 'clerk',
    asks: [
      { prompt: 'remember that I drink my coffee black', as: 'ann' },
      { prompt: 'what do you know about me?', as: 'ann' },
      { prompt: 'what do you know about me?', as: 'ben' },
    ],
    needs: startDatabase,
  },
  runbook: { agent: 'operator', asks: [{ prompt: 'run bin/status' }] },
  'support-desk': { agent: 'desk', asks: [{ prompt: 'refund 1001 20.00 because one cup was broken' }] },
};

/** A PostgreSQL of its own, unless you name yours. It ends with the example, and keeps nothing. */
async function startDatabase({ directory, port, started }) {
  if (process.env.DATABASE_URL) return {};
  const place = { bin: findPostgres(), directory, port };
  const { host, user, password } = await startPostgres({ ...place, started: ({ stop }) => started(stop) });
  return { DATABASE_URL: `postgres://${user}:${password}@${host}:${port}/postgres` };
}

const cli = at('bin', 'countersign.js');

/** Starts `countersign dev`; `ready` is kept once it runs. */
const startDev = (args, env) => {
  const child = spawn(process.execPath, [cli, 'dev', ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const ready = new Promise((resolve, reject) => {
    let out = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
      if (out.includes('Ctrl-C')) resolve();
    });
    void ended.then((code) => reject(new Error(`the example ended early (exit code ${code}):\n${out}`)));
  });
  return { ready, stop: () => (child.kill('SIGINT'), ended) };
};

const main = async ([name, prompt]) => {
  const known = Object.hasOwn(EXAMPLES, name ?? '') ? EXAMPLES[name] : undefined;
  if (known === undefined)
    throw new Error(`usage: npm run example -- ${Object.keys(EXAMPLES).join('|')} [prompt]`);
  const { freePorts } = createRequire(import.meta.url)(at('lib', 'engine', 'server-args.js'));
  const [port, uiPort, otherPort] = await freePorts(3);
  const data = mkdtempSync(join(tmpdir(), 'countersign-example-'));
  chmodSync(data, 0o711);
  const stops = [() => rmSync(data, { recursive: true, force: true })];
  try {
    const started = (stop) => stops.unshift(stop);
    const env = await known.needs?.({ directory: data, port: otherPort, started });
    const ports = ['--port', `${port}`, '--ui-port', `${uiPort}`, '--data-dir', join(data, 'server')];
    const dev = startDev([`examples/${name}/agent.ts`, ...ports], env);
    started(dev.stop);
    await dev.ready;
    const asks = prompt === undefined ? known.asks : [{ ...known.asks[0], prompt }];
    for (const ask of asks) {
      const as = ask.as === undefined ? [] : ['--as', ask.as];
      const command = [cli, 'run', known.agent, ask.prompt, ...as, '--address', `127.0.0.1:${port}`];
      const code = await runShown(process.execPath, command);
      if (code !== 0) return code;
    }
    return 0;
  } finally {
    for (const stop of stops) await stop();
  }
};

void exitWith(main(process.argv.slice(2)));
