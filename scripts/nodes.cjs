/** Another Node than this one: npm brings each as a package. */
const { tmpdir } = require('node:os');
const { join } = require('node:path');

/** The newest of each line that is supported beside the oldest. */
const NODES = ['22.23.3', '24.21.0'];

const platform = process.platform === 'win32' ? 'win' : process.platform;

/** The command that starts a Node; scripts and their arguments come after it. */
const nodeCommand = (version) => [
  'npm',
  'exec',
  '--yes',
  `--package=node-${platform}-${process.arch}@${version}`,
  '--',
  'node',
];

/** What that command needs of its environment. Not in the home of root: programs in a sandbox run as somebody else, who has to reach Node. */
const NODE_ENV = { npm_config_cache: join(tmpdir(), `countersign-nodes-${process.getuid?.() ?? ''}`) };

module.exports = { NODES, nodeCommand, NODE_ENV };
