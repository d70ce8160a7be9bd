import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { NewFile } from '../client';
import { LIMITS } from '../contract/limits';
import { sizeText } from '../contract/text/bytes';
import { CountersignError } from '../contract/errors';
import { withFileErrors } from '../system/named-files';

/**
 * Reads a file to send with a message. A leading `~/` is the home of the person, because here no shell expands it.
 *
 * @throws CountersignError `file_failed`, `usage` if the file is larger than a file of a message may be.
 */
export function readAttached(given: string): Promise<NewFile> {
  const path = given.startsWith('~/') ? join(homedir(), given.slice(2)) : given;
  return withFileErrors(`reading ${path}`, async () => {
    const { size } = await stat(path);
    if (size > LIMITS.fileBytes)
      throw new CountersignError('usage', `${path} is over ${sizeText(LIMITS.fileBytes)}`);
    return { name: path, bytes: await readFile(path) };
  });
}
