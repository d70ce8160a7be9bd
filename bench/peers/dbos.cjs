/** DBOS: each step a row in PostgreSQL. Argument: the address of its database. */
const { readFileSync } = require('node:fs');
const { DBOS } = require(require.resolve('@dbos-inc/dbos-sdk', { paths: [process.cwd()] }));
const { effectThenKill, host, reply, starts, text } = require('./host.cjs');

const { tell, next } = starts();
let runs = 0;

const loop = DBOS.registerWorkflow(
  async (steps, bytes) => {
    const messages = [{ role: 'user', content: 'go' }];
    for (;;) {
      const said = await DBOS.runStep(() => Promise.resolve(reply(messages, steps)), { name: 'model' });
      messages.push(said);
      if (said.toolCalls.length === 0) return said.content;
      const content = await DBOS.runStep(() => Promise.resolve(text(bytes)), { name: 'tool' });
      messages.push({ role: 'tool', content });
    }
  },
  { name: 'loop' },
);

const gated = DBOS.registerWorkflow(
  async (key) => {
    await DBOS.recv('decision', 600);
    return DBOS.runStep(() => Promise.resolve(tell(key)), { name: 'tool' });
  },
  { name: 'gated' },
);

const pays = DBOS.registerWorkflow(
  async (file) => {
    await DBOS.recv('decision', 600);
    const pay = () => Promise.resolve(effectThenKill(file, readFileSync(file, 'utf8').length));
    await DBOS.runStep(pay, { name: 'pay' });
    return 'done';
  },
  { name: 'pays' },
);

async function decide() {
  const key = `gated-${process.pid}-${(runs += 1)}`;
  const handle = await DBOS.startWorkflow(gated, { workflowID: key })(key);
  const started = next(key);
  // It waits.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const sent = performance.now();
  await DBOS.send(key, 'yes', 'decision');
  const ms = (await started) - sent;
  await handle.getResult();
  return ms;
}

async function main() {
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: process.argv[2],
    runAdminServer: false,
    logLevel: 'error',
  });
  await DBOS.launch();
  host({
    run: async ({ steps, bytes }) => {
      const start = performance.now();
      const handle = await DBOS.startWorkflow(loop)(steps, bytes);
      await handle.getResult();
      return performance.now() - start;
    },
    decide,
    kill: async ({ file }) => {
      const handle = await DBOS.startWorkflow(pays, { workflowID: 'pays' })(file);
      await DBOS.send('pays', 'yes', 'decision');
      await handle.getResult();
    },
    recover: async () => DBOS.retrieveWorkflow('pays').getResult(),
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
