'use strict';
/**
 * Our client as the official conformance suite of MCP starts one: it gets the address of a server as its last argument, lists the
 * tools, and calls each. To a question of the server a person sends the form as it is, as a turn would take that.
 */
const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const lib = (name) => require(join(__dirname, '..', '..', 'lib', name));
const { LoginNeeded } = lib('tools/mcp/authorization.js');
const { beginLogin } = lib('tools/mcp/login.js');
const { accountOf, connectTo } = lib('tools/mcp/reach.js');
const { digestDefinition } = lib('tools/mcp/definition.js');
const { createSecrets } = lib('tools/secrets.js');
const { completeAnswer } = lib('contract/question.js');

/** Arguments that fit the schema of a tool of the suite. */
const argumentsFor = ({ properties = {} }) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, { type }], at) => [name, type === 'number' ? at + 1 : 'text']),
  );

/** What a person does who logs in as the worker asks: opens the address, and agrees. The suite's servers agree at once. */
const logIn = async (start, secrets, scopes) => {
  const redirectUrl = 'http://127.0.0.1:3334/callback';
  const { oauth } = start;
  const stop = AbortSignal.timeout(20_000);
  const account = accountOf('suite', start, secrets);
  const opened = await beginLogin({ account, headers: {}, oauth, scopes, redirectUrl, secrets, stop });
  const answer = await fetch(opened.url, { redirect: 'manual' });
  const { searchParams } = new URL(answer.headers.get('location'));
  if (!opened.isFor(searchParams)) throw new Error('the answer is for another login');
  await opened.finish(searchParams);
};

const callAll = async (connection) => {
  const signal = AbortSignal.timeout(20_000);
  const ask = async (question) => ({ answer: 'answered', content: completeAnswer(question, {}) });
  for (const { definition } of await connection.list(signal)) {
    const { name: tool, inputSchema } = definition;
    const digest = digestDefinition(definition);
    const call = {
      tool,
      arguments: argumentsFor(inputSchema),
      digest,
      signal,
      ask,
      onProgress: () => undefined,
    };
    process.stdout.write(`${JSON.stringify(await connection.call(call))}\n`);
  }
};

/** A worker says which server needs a login; a person logs in, and the next call goes on. */
const main = async (url) => {
  process.env.XDG_STATE_HOME = mkdtempSync(join(tmpdir(), 'countersign-conformance-'));
  const { client_id: clientId, client_secret: clientSecret } = JSON.parse(
    process.env.MCP_CONFORMANCE_CONTEXT ?? '{}',
  );
  const oauth = {
    ...(clientId && { clientId }),
    ...(clientSecret && { clientSecret: { secret: 'client' } }),
  };
  const start = { kind: 'http', url, headers: {}, oauth, elicitation: true };
  const secrets = createSecrets(() => clientSecret);
  const warn = (line) => process.stderr.write(`${line}\n`);
  for (let logins = 0; ; logins += 1) {
    const connection = connectTo({ name: 'suite', start }, { secrets, warn });
    try {
      return await callAll(connection);
    } catch (error) {
      const [, more] = /--scopes ([^`]+)`/.exec(error.message) ?? [];
      if ((!(error instanceof LoginNeeded) && more === undefined) || logins === 3) throw error;
      await logIn(start, secrets, more?.split(' ') ?? []);
    } finally {
      await connection.close();
    }
  }
};

main(process.argv.at(-1)).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
