import { createStyle } from '../../src/cli/print/screen';
import { errorLines, explainMissing } from '../../src/cli/report-error';
import { CountersignError } from '../../src/contract/errors';

const thrown = (message: string, code = 'MODULE_NOT_FOUND'): Error =>
  Object.assign(new Error(message), { code });

it.each([
  [
    "Cannot find module '@temporalio/worker'\nRequire stack:\n- /x.js",
    'MODULE_NOT_FOUND',
    '@temporalio/worker',
  ],
  ["Cannot find package 'hono' imported from /x.js", 'ERR_MODULE_NOT_FOUND', 'hono'],
])('%j is a package that is not installed', (message, code, name) => {
  const explained = explainMissing(thrown(message, code));
  expect(explained).toBeInstanceOf(CountersignError);
  expect(explained).toMatchObject({
    code: 'not_installed',
    message: `${name} is not installed`,
    hint: expect.stringContaining('npm install'),
    data: { name },
  });
});

it.each([
  ['a file of our own', thrown("Cannot find module './gone'")],
  ['a path', thrown("Cannot find module '/gone/index.js'")],
  ['another error', thrown("Cannot find module 'hono'", 'EACCES')],
  ['an error of ours', new CountersignError('usage', "Cannot find module 'hono'")],
  ['no error', "Cannot find module 'hono'"],
])('%s stays as it is', (_what, error) => {
  expect(explainMissing(error)).toBe(error);
});

it.each([
  ['start a worker', 'Start a worker'],
  ['no.such.host/m: there is no such host', 'no.such.host/m: there is no such host'],
  ['countersign inbox lists it', 'countersign inbox lists it'],
])('the hint %j is printed as %j', (hint, printed) => {
  const report = { style: createStyle(false), typed: (text: string) => text, debug: false };
  expect(errorLines(new CountersignError('failed', 'it failed', { hint }), report)[1]).toBe(printed);
});
