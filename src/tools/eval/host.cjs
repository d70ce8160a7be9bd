/**
 * Runs inside a sandbox, which gets this file as text. Evaluates code as a REPL does: one request per line on a
 * descriptor, one answer per line back. Evaluated code can forge answers, so the reader of the answers trusts none.
 */
'use strict';
const { Session } = require('node:inspector');
const { createRequire } = require('node:module');
const { Socket } = require('node:net');
const { pathToFileURL } = require('node:url');
const { inspect } = require('node:util');

// We keep the original functions: evaluated code may replace them.
const { parse, stringify } = JSON;
const streams = [process.stdout, process.stderr].map((stream) => stream.write.bind(stream));

const MOST_LETTERS = 200_000;
const SHOWN = { depth: 5, maxArrayLength: 200, maxStringLength: 50_000, breakLength: 100 };

const channel = new Socket({ fd: Number(process.env.COUNTERSIGN_CHANNEL) });
for (const name of Object.keys(process.env)) if (name.startsWith('COUNTERSIGN_')) delete process.env[name];

const here = createRequire(`${process.cwd()}/`);
const hide = (name, value) =>
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
hide('require', here);
// Code that the inspector evaluates has no `import` of its own.
hide('__countersign_import', async (given, options) => {
  const name = String(given);
  return import(/^\.{0,2}\//.test(name) ? pathToFileURL(here.resolve(name)).href : name, options);
});

const session = new Session();
session.connect();

/** `keeper` is a function that puts a value into `kept`. An answer of the inspector only describes the value. */
let kept;
let keeper;
hide('__countersign_keep', (value) => {
  kept = value;
});
session.post('Runtime.evaluate', { expression: '__countersign_keep' }, (_, answer) => {
  keeper = answer.result.objectId;
});
delete globalThis.__countersign_keep;

function evaluate(expression, done) {
  session.post('Runtime.evaluate', { expression, replMode: true }, (error, answer) => {
    if (error) return done('error', error.message);
    const { result, exceptionDetails } = answer;
    const found = exceptionDetails?.exception ?? result;
    return keep(found, () => {
      const text = textOf(kept);
      kept = undefined;
      done(exceptionDetails ? 'error' : 'value', exceptionDetails ? withoutOurFrames(text) : text);
    });
  });
}

function keep({ objectId, unserializableValue, value }, done) {
  const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
  const call = { objectId: keeper, functionDeclaration: 'function (value) { this(value); }' };
  session.post('Runtime.callFunctionOn', { ...call, arguments: [argument] }, done);
}

function textOf(value) {
  try {
    const text = inspect(value, SHOWN);
    return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}... ${text.length} letters` : text;
  } catch (error) {
    return `[a value that cannot be shown: ${String(error)}]`;
  }
}

/** Removes the stack frames of the code's callers, which belong to this file and to Node. */
function withoutOurFrames(text) {
  return text.replace(
    /\n {4}at (?:new )?(?:Session\.post|evaluate|Socket\.|\[eval\])[^]*?(?=\n(?! {4}at )|$)/,
    '',
  );
}

/** Waits until the output of the code is written, so that it precedes the answer: streams may buffer it. */
function flush(done) {
  let left = streams.length;
  for (const write of streams)
    write('', () => {
      left -= 1;
      if (left === 0) done();
    });
}

const note = (what) => (error) => process.stderr.write(`${what}: ${withoutOurFrames(textOf(error))}\n`);
process.on('uncaughtException', note('Uncaught'));
process.on('unhandledRejection', note('Unhandled rejection'));

let text = '';
channel.setEncoding('utf8');
channel.on('data', (chunk) => {
  text += chunk;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    const { id, code } = parse(line);
    evaluate(code, (kind, shown) => flush(() => channel.write(`${stringify({ id, kind, text: shown })}\n`)));
  }
});
// The worker is gone.
channel.on('close', () => process.exit(0));
channel.on('error', () => process.exit(0));
