import { spawn } from 'node:child_process';
import { root } from './root.mjs';

/** Runs a command in the checkout with its output shown; resolves with its exit code. */
export const runShown = (command, args, env = process.env) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: 'inherit' });
    // Ctrl-C reaches the child as well; how it ends is its own business.
    const ignore = () => undefined;
    process.on('SIGINT', ignore);
    const forward = () => child.kill('SIGTERM');
    process.on('SIGTERM', forward);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.off('SIGINT', ignore);
      process.off('SIGTERM', forward);
      resolve(signal === null ? code : 1);
    });
  });

/** Runs a command in the checkout and keeps what it says; resolves with that and its exit code. */
export const runKept = (command, args, { everyMs = 5_000, tick = () => undefined } = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const take = (chunk) => void (output += chunk);
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const timer = setInterval(tick, everyMs);
    child.once('error', reject);
    child.once('close', (code) => {
      clearInterval(timer);
      resolve({ code: code ?? 1, output });
    });
  });

/** The same, of which only what it says is of interest; throws all of it when the command fails. */
export const runQuiet = async (command, args, options) => {
  const { code, output } = await runKept(command, args, options);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${output}`);
  return output;
};
