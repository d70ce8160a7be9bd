const { default: run } = require('jest-circus/runner');

/** Jest's own, but for the word that each test has begun or ended: nobody listens, and it was copied and sent to another process. */
module.exports = (config, project, environment, runtime, path) =>
  run(config, project, environment, runtime, path);
