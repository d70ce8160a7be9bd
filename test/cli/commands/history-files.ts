import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBuilt } from '../../support/build';
import { scratchDirectory } from '../../support/scratch';

/** Histories in files, as commands read them. */
export interface HistoryFiles {
  /** Where a recorded history is, such as `plain`, from the checkout. */
  recorded(kind: string): string;
  /** Writes one; what is no text yet becomes JSON. */
  written(content: unknown): Promise<string>;
}

/** Some for the test file that calls this, whose commands need the built program. */
export function useHistoryFiles(): HistoryFiles {
  const directory = scratchDirectory();
  beforeAll(ensureBuilt);
  return {
    recorded: (kind) => join('test', 'histories', `${kind}.json`),
    written: async (content) => {
      const file = join(directory(), 'history.json');
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
      return file;
    },
  };
}
