import { z } from 'zod';

/** The version of a package that can be loaded. Undefined if it cannot. */
export function installedVersion(name: string): string | undefined {
  try {
    const manifest: unknown = require(`${name}/package.json`);
    return z.object({ version: z.string() }).safeParse(manifest).data?.version;
  } catch {
    // Whatever the reason is, the package cannot be loaded.
    return undefined;
  }
}
