/** The newest of each line that is supported beside the oldest. */
export const NODES: [node22: string, node24: string];

/** The command that starts a Node, which npm brings; scripts and their arguments come after it. */
export function nodeCommand(version: string): [program: string, ...args: string[]];

/** What that command needs of its environment. */
export const NODE_ENV: { npm_config_cache: string };
