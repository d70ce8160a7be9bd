import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where this user's programs of ours remember things on this machine: `$XDG_STATE_HOME/countersign`, or `~/.local/state/countersign`. */
export function userStateDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'countersign');
}
