/** Unpacks the Chromium that an npm package brings, where the system has none. */
export function unpackChromium(env?: NodeJS.ProcessEnv): void;

/** The program to start, and the environment that it needs. */
export function findChromium(
  env?: NodeJS.ProcessEnv,
): { program: string; env: NodeJS.ProcessEnv } | undefined;
