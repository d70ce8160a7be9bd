import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The file of a program of this machine. Folders of PATH that are not absolute are passed over. */
export function findProgram(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  const folders = path.split(delimiter).filter((one) => one.startsWith('/'));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
