/** `npm run example -- lisp [prompt]`: one example with a server of its own; asks it once, shows the turn, and ends. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at, root, say } from './root.mjs';
import { runShown } from './run.mjs';

/** The agent of each example, and what it is asked unless you ask something else. */
const EXAMPLES = {
  code: ['reader', 'What does the function `defineTool` do?'],
  lisp: ['lisper', 'What does the function `defun` do?'],
  maintainer: ['maintainer', 'make the tests pass'],
  runbook: ['operator', 'run bin/status'],
  'support-desk': ['desk', 'refund 1001 20.00 because one cup was broken'],
};

const cli = at('bin', 'countersign.js');

/** Starts `countersign dev`; `ready` is kept once it runs. */
const startDev = (args) => {
  const child = spawn(process.execPath, [cli, 'dev', ...args], {
    cwd: root,
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
  const [agent, usual] = known;
  const { freePorts } = createRequire(import.meta.url)(at('lib', 'engine', 'server-args.js'));
  const [port, uiPort] = await freePorts(2);
  const data = mkdtempSync(join(tmpdir(), 'countersign-example-'));
  const ports = ['--port', `${port}`, '--ui-port', `${uiPort}`, '--data-dir', data];
  const dev = startDev([`examples/${name}/agent.ts`, ...ports]);
  try {
    await dev.ready;
    return await runShown(process.execPath, [
      cli,
      'run',
      agent,
      prompt ?? usual,
      '--address',
      `127.0.0.1:${port}`,
    ]);
  } finally {
    await dev.stop();
    rmSync(data, { recursive: true, force: true });
  }
};

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    say(error.message);
    process.exitCode = 1;
  },
);
