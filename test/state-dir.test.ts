import { homedir } from 'node:os';
import { join } from 'node:path';
import { userStateDir } from '../src/state-dir';

it.each<[NodeJS.ProcessEnv, string]>([
  [{ XDG_STATE_HOME: '/state' }, join('/state', 'countersign')],
  [{}, join(homedir(), '.local', 'state', 'countersign')],
])('with %j it is %s', (env, directory) => {
  expect(userStateDir(env)).toBe(directory);
});
