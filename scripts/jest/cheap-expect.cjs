/**
 * Makes `expect` cost less, which was a sixth of the unit tests: Jest makes each of 60 matchers six times for each value, and
 * copies all of its helpers for each matcher that is called. Here the matcher that is called is made, and the helpers are copied
 * once. It is changed as it is loaded, so that no frame of ours stands in the stack of what fails.
 */
const Module = require('node:module');

/** What stands in the file of `expect`, and what is to stand there. */
const CHANGES = [
  [
    /  const expectation = \{\n    not: \{\},[^]*?\n  return expectation;\n/,
    `  const each = (make, others) =>
    new Proxy(others, {
      get: (_, name) =>
        Object.hasOwn(others, name) ? others[name]() : allMatchers[name] && make(name, allMatchers[name]),
    });
  const plain = (isNot) => (_, matcher) => makeThrowingMatcher(matcher, isNot, '', actual);
  const promised = (make) => () => {
    const err = new JestAssertionError();
    const one = (isNot) => (name, matcher) =>
      make(name, getPromiseMatcher(name, matcher) || matcher, isNot, actual, err);
    return each(one(false), { not: () => each(one(true), {}) });
  };
  return each(plain(false), {
    not: () => each(plain(true), {}),
    resolves: promised(makeResolveMatcher),
    rejects: promised(makeRejectMatcher),
  });
`,
  ],
  [
    /  const utils = (\{\n    \.\.\.matcherUtils,[^]*?\n  \});\n/,
    '  const utils = (makeThrowingMatcher.utils ??= $1);\n',
  ],
];

const change = (code) =>
  CHANGES.reduce((text, [from, to]) => {
    if (!from.test(text)) throw new Error(`expect of this version has no ${from}`);
    return text.replace(from, to);
  }, code);

const file = require.resolve('expect', { paths: [require.resolve('@jest/expect')] });
const compile = Module.prototype._compile;
Module.prototype._compile = function (code, filename, ...rest) {
  return compile.call(this, filename === file ? change(code) : code, filename, ...rest);
};
// What it keeps in globals is there before any test file, so that it stays when one ends.
require('@jest/expect');
Module.prototype._compile = compile;
