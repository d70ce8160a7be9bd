import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../support/build';

const LASTS = 'setInterval(() => {}, 1000);';

/** What a killed run would leave: a child that ignores requests to end, one in a session of its own, and one without parent. */
const STARTS = `
  const { execFileSync, spawn } = require('node:child_process');
  const start = (code, detached) =>
    spawn(process.execPath, ['-e', code], { detached, stdio: ['ignore', 'pipe', 'inherit'] });
  const stubborn = start("process.on('SIGTERM', () => {}); console.log(1); ${LASTS}", false);
  const far = start("console.log(1); ${LASTS}", true);
  const orphan = Number(execFileSync('sh', ['-c', 'sleep 86399 >/dev/null 2>&1 & echo $!'], { encoding: 'utf8' }));
  Promise.all([stubborn, far].map((child) => new Promise((done) => child.stdout.once('data', done))))
    .then(() => console.log(JSON.stringify([process.pid, stubborn.pid, far.pid, orphan])));
  ${LASTS}`;

const ENDS = `
  import { spawn } from 'node:child_process';
  const { endSession } = await import(${JSON.stringify(join(root, 'scripts', 'processes.mjs'))});
  const options = { detached: true, stdio: ['ignore', 'pipe', 'inherit'] };
  const leader = spawn(process.execPath, ['-e', ${JSON.stringify(STARTS)}], options);
  const started = JSON.parse(await new Promise((done) => leader.stdout.once('data', (data) => done(String(data)))));
  await endSession(leader.pid);
  const isAlive = (pid) => { try { return process.kill(pid, 0); } catch { return false; } };
  // One without parent is there until the first process of the machine takes note of its end.
  for (let n = 0; n < 400 && started.some(isAlive); n++) await new Promise((done) => setTimeout(done, 50));
  console.log(JSON.stringify({ started: started.length, alive: started.filter(isAlive) }));`;

it('ends all that a run of tests has started, wherever it has gone', () => {
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', ENDS], { encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual({ started: 4, alive: [] });
});
