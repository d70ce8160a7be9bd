/**
 * The process of one stack: it answers what the bench asks, one message each.
 *
 * - `run`: a loop of so many steps, each a model call and a tool call that gives so many bytes; milliseconds.
 * - `decide`: milliseconds from a decision until the tool runs that waits for it.
 * - `kill`: a tool that a person approved writes a line to a file, then its process is killed. No answer.
 * - `recover`: after a restart: what became of that run.
 * - `cpu`: milliseconds of processor time of this process.
 */
const { randomBytes } = require('node:crypto');
const { appendFileSync } = require('node:fs');

exports.host = (answers) => {
  const cpu = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  const all = { cpu, ...answers };
  process.on('message', async ({ id, ask, about }) => {
    try {
      process.send({ id, ok: await all[ask](about) });
    } catch (error) {
      process.send({ id, error: String(error?.stack ?? error) });
    }
  });
  process.send('ready');
};

/** What a model says that asks for one call in each step; it reads the conversation, as a model does. */
exports.reply = (messages, steps) => {
  const made = messages.filter(({ role }) => role === 'tool').length;
  const toolCalls = made < steps ? [{ id: `call_${made}`, name: 'look', arguments: { n: made } }] : [];
  return { role: 'assistant', content: made < steps ? '' : 'done', toolCalls };
};

/** What a tool gives: nothing that a database could make smaller. */
exports.text = (bytes) => randomBytes((bytes / 4) * 3).toString('base64');

/** The effect that is counted: a line in a file. With a first line there is no second kill. */
exports.effectThenKill = (file, lines) => {
  appendFileSync(file, 'paid\n');
  if (lines === 0) process.kill(process.pid, 'SIGKILL');
};

/** A tool tells that it runs. */
exports.starts = () => {
  const waiting = new Map();
  return {
    tell: (key) => waiting.get(key)?.(performance.now()),
    next: (key) => new Promise((resolve) => waiting.set(key, resolve)),
  };
};
