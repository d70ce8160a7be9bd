import { makeContext } from '../../../src/tools/context';
import { createLispTools, type LispOptions } from '../../../src/tools/lisp';

const evalForm = (options: LispOptions) =>
  createLispTools({ stateDir: '/state', ...options }).find(({ name }) => name === 'eval_form');

it.each<[string, LispOptions]>([
  ['another folder', { root: '/work/b' }],
  ['no folder', {}],
  ['another image of the same folder', { root: '/work/a', name: 'other' }],
  ['another state folder', { root: '/work/a', stateDir: '/other' }],
  ['another program', { root: '/work/a', program: '/opt/sbcl' }],
  ['another file to load', { root: '/work/a', load: ['/work/a/start.lisp'] }],
  ['an image that runs already', { root: '/work/a', swank: '127.0.0.1:4005' }],
])('with %s, its tools are others for a decision', (_case, options) => {
  const first = evalForm({ root: '/work/a' });
  expect(evalForm({ root: '/work/a', timeout: '1 minute' })?.digest).toBe(first?.digest);
  expect(evalForm(options)?.digest).not.toBe(first?.digest);
});

it.each<[string, LispOptions, string]>([
  ['one of its own', { root: '/work/a', name: 'a' }, 'the Lisp image of /work/a (/state/lisp/a)'],
  ['one that runs already', { swank: '127.0.0.1:4005' }, 'the Lisp image at 127.0.0.1:4005'],
])('shows which image runs a form, and that it has no sandbox: %s', async (_case, options, image) => {
  const { signal } = new AbortController();
  const context = makeContext({ callId: '1.1', tool: 'eval_form' }, {}, { signal });
  const shown = await evalForm(options)?.preview?.({ form: '(+ 1 2)', package: 'CL-USER' }, context);
  expect(shown?.text).toBe(`Evaluates in package "CL-USER" of ${image}, WITHOUT a sandbox:\n(+ 1 2)`);
});
