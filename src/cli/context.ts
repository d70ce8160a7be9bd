import { hostname, userInfo } from 'node:os';
import type { Countersign } from '../client';
import { defined } from '../history/defined';
import { readTime } from './read-value';
import type { Screen } from './print/screen';
import type { Keyboard } from './terminal/terminal';

/** Options of every command: where the Temporal server is. */
export interface GlobalOptions {
  address?: string;
  namespace?: string;
  profile?: string;
  timeout?: string;
  encryptionKeyFile?: string;
}

/** A server by address and namespace. */
export type ServerAt = Pick<GlobalOptions, 'address' | 'namespace'>;

/** What a command is given beside its own arguments. */
export interface Context {
  readonly screen: Screen;
  readonly env: NodeJS.ProcessEnv;
  /** Where a person types; absent where nobody does. */
  readonly keyboard: Keyboard | undefined;
  /** Known once the command line is parsed. */
  options(): GlobalOptions;
  /** Connects, does something, and closes the connection whatever happens. `at`: another place than the options say. */
  withDesk<T>(use: (desk: Countersign) => Promise<T>, at?: ServerAt): Promise<T>;
  /** A command of ours as it has to be typed to reach the same server. */
  command(args: string): string;
}

/** What a context is made of. */
export type ContextParts = Pick<Context, 'screen' | 'env' | 'keyboard' | 'options'>;

/** The context of one process. */
export function createContext(parts: ContextParts): Context {
  const { options } = parts;
  return {
    ...parts,
    command: (args) => ['countersign', args, ...flagsOf(options())].join(' '),
    withDesk: async (use, at) => {
      // Loaded here, so that `--help` does not wait for gRPC.
      const { connect } = await import('../client/index.js');
      const { timeout, encryptionKeyFile: keyFile, ...place } = options();
      const encryption = keyFile === undefined ? {} : { encryption: { keyFile } };
      const timeoutMs = timeout === undefined ? {} : { timeoutMs: readTime(timeout, '--timeout') };
      const desk = await connect({
        ...place,
        ...defined({ address: at?.address, namespace: at?.namespace }),
        ...timeoutMs,
        ...encryption,
        identity: `${osUser()}@${hostname()}`,
      });
      try {
        return await use(desk);
      } finally {
        await desk.close();
      }
    },
  };
}

/** Who decides, unless `--as` says so: the name this person has on this machine. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an account, as in some containers.
    return 'somebody';
  }
}

function flagsOf({ address, namespace, profile, encryptionKeyFile }: GlobalOptions): string[] {
  const flags = { address, namespace, profile, 'encryption-key-file': encryptionKeyFile };
  return Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, shellWord(value)],
  );
}

/** One word of a shell's command line, quoted where it has to be. */
export function shellWord(text: string): string {
  return /^[\w.:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
