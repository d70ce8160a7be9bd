import { privateFaultText, readPrivateFile } from '../system/files';
import { usageError } from '../contract/errors';

/** The place of a secret: a file, or an environment variable. */
interface SecretPlace {
  file: string | undefined;
  variable: string;
}

/**
 * A secret, without blanks around it. Undefined if there is no secret. A file takes precedence over the variable.
 *
 * @throws CountersignError `usage` for a file that cannot be read, or that others can read.
 */
export function readSecretText({ file, variable }: SecretPlace, env: NodeJS.ProcessEnv): string | undefined {
  const text = (file === undefined ? (env[variable] ?? '') : readFile(file)).trim();
  return text === '' ? undefined : text;
}

function readFile(path: string) {
  const read = readPrivateFile(path);
  if ('text' in read) return read.text;
  const isOpen = read.fault === 'open_to_others';
  throw usageError(
    `the secret in ${path} ${privateFaultText(read)}`,
    isOpen ? `Run: chmod 600 ${path}` : 'Name a file that holds only the secret.',
  );
}
