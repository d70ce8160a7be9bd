/** The release of Temporal's command line that we download or build. */
export const CLI_VERSION = '1.8.2';

/** The oldest command line whose server is known to reset and pause activities, which calls in doubt rely on. */
export const CLI_OLDEST = '1.4.0';

/** What the go.mod of the command line asks for. */
export const GO_OLDEST = '1.26.4';

/**
 * The first version number in a text such as `temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)` or
 * `go version go1.26.8 linux/amd64`; undefined when there is none.
 */
export const findVersion = (text: string): string | undefined => /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0];

/** True if `version` is `oldest` or newer; a part that is missing counts as 0. */
export const atLeast = (version: string, oldest: string): boolean => {
  const [have, need] = [parts(version), parts(oldest)];
  const first = need.findIndex((part, index) => (have[index] ?? 0) !== part);
  return first === -1 || (have[first] ?? 0) > (need[first] ?? 0);
};

const parts = (version: string): number[] => version.split('.').map(Number);
