/** Restate: each step an entry of its journal. Arguments: the ports of its ingress, its admin and of this process. */
const { readFileSync } = require('node:fs');
// Its SDK is made for Node 22; on Node 20 it lacks only this.
Promise.withResolvers ??= () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

const restate = require(require.resolve('@restatedev/restate-sdk', { paths: [process.cwd()] }));
const { effectThenKill, host, reply, starts, text } = require('./host.cjs');

const [, , ingress, admin, own] = process.argv;
const { tell, next } = starts();
const waits = new Map();
let runs = 0;

const agent = restate.service({
  name: 'agent',
  handlers: {
    loop: async (ctx, { steps, bytes }) => {
      const messages = [{ role: 'user', content: 'go' }];
      for (;;) {
        const said = await ctx.run('model', () => reply(messages, steps));
        messages.push(said);
        if (said.toolCalls.length === 0) return said.content;
        const content = await ctx.run('tool', () => text(bytes));
        messages.push({ role: 'tool', content });
      }
    },
    gated: async (ctx, { key }) => {
      const { id, promise } = ctx.awakeable();
      waits.get(key)?.(id);
      await promise;
      await ctx.run('tool', () => void tell(key));
    },
    pays: async (ctx, { file }) => {
      const { id, promise } = ctx.awakeable();
      waits.get('pays')?.(id);
      await promise;
      await ctx.run('pay', () => effectThenKill(file, readFileSync(file, 'utf8').length));
      return 'done';
    },
  },
});

async function post(port, path, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...{ method: 'POST', headers, body: JSON.stringify(body) },
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${answer}`);
  return answer === '' ? undefined : JSON.parse(answer);
}

const awakeableOf = (key) => new Promise((resolve) => waits.set(key, resolve));

async function decide() {
  const key = `gated-${process.pid}-${(runs += 1)}`;
  const [asked, started] = [awakeableOf(key), next(key)];
  const done = post(ingress, '/agent/gated', { key });
  const id = await asked;
  await new Promise((resolve) => setTimeout(resolve, 100));
  const sent = performance.now();
  await post(ingress, `/restate/awakeables/${id}/resolve`, 'yes');
  const ms = (await started) - sent;
  await done;
  return ms;
}

async function main() {
  restate.setLogger?.(() => undefined);
  await restate.serve({ services: [agent], port: Number(own) });
  await post(admin, '/deployments', { uri: `http://127.0.0.1:${own}`, force: true });
  host({
    run: async (about) => {
      const start = performance.now();
      await post(ingress, '/agent/loop', about);
      return performance.now() - start;
    },
    decide,
    kill: async ({ file }) => {
      const asked = awakeableOf('pays');
      await post(ingress, '/agent/pays/send', { file });
      await post(ingress, `/restate/awakeables/${await asked}/resolve`, 'yes');
      await new Promise(() => undefined);
    },
    // The server sends the rest of it to this process by itself.
    recover: async ({ file }) => {
      for (let look = 0; look < 600; look++) {
        if (readFileSync(file, 'utf8').split('\n').length > 2) return 'done';
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return 'nothing more within a minute';
    },
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
