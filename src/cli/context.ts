import { hostname, userInfo } from 'node:os';
import type { ConnectOptions, Countersign } from '../client';
import { shellWord } from '../contract/text/shell-word';
import { defined } from '../contract/defined';
import type { ExitCode } from './exit-codes';
import { readTime } from './flags';
import { programName } from './own-modules';
import type { Screen } from './print/screen';
import type { Keyboard } from './review/terminal';

/** Options of every command: the Temporal server, how to connect to it, who acts, and how to print. */
export interface GlobalOptions {
  address?: string;
  namespace?: string;
  profile?: string;
  timeout?: string;
  encryptionKeyFile?: string;
  json?: boolean;
  as?: string;
  approvers?: string[];
}

/** A server by address and namespace. */
type ServerAt = Pick<GlobalOptions, 'address' | 'namespace'>;

/** Wishes of one command for its connection, besides the global options. */
type ConnectionWish = ServerAt & Pick<ConnectOptions, 'readyMs' | 'timeoutMs'>;

/** Everything that a command gets besides its own arguments. */
export interface Context {
  readonly screen: Screen;
  readonly env: NodeJS.ProcessEnv;
  /** The terminal where a person types, or what is piped in. Undefined if there is no input. */
  readonly keyboard: Keyboard | undefined;
  /** The global options, which are known only after the command line is parsed. */
  options(): GlobalOptions;
  /** Whether to print JSON, for programs. */
  readonly json: boolean;
  /** Who acts. */
  readonly as: string;
  /** The approvers file that was named; the last one, where several were. */
  readonly approversFile: string | undefined;
  /** Prints a value if JSON is wanted, and otherwise its lines. */
  print(value: unknown, lines: () => readonly string[]): void;
  /** Connects, calls `use`, and always closes the connection. `wish` overrides the server of the options. */
  withClient<T>(use: (client: Countersign) => Promise<T>, wish?: ConnectionWish): Promise<T>;
  /** A command of this program as a person types it to reach the same server. Pass ids through `shellWord` first. */
  command(args: string): string;
  /** A sentence that names commands of this program, with each command as a person types it here. */
  typed(sentence: string): string;
  /** Sets the exit code of a command that ends without an error. @default 0 */
  exitWith(code: ExitCode): void;
}

/** The parts of a context that come from the process. */
type ContextParts = Pick<Context, 'screen' | 'env' | 'keyboard' | 'options' | 'typed' | 'exitWith'>;

/** The time that a person waits for a server, unless `--timeout` says another. */
const TIMEOUT_MS = 5_000;

/** The context of one process. */
export function createContext(parts: ContextParts): Context {
  const { options, env, screen } = parts;
  let name: string | undefined;
  return {
    ...parts,
    get json() {
      return options().json === true;
    },
    get as() {
      return options().as ?? osUser();
    },
    get approversFile() {
      return options().approvers?.at(-1);
    },
    print: (value, lines) => {
      if (options().json === true) screen.json(value);
      else screen.lines(lines());
    },
    command: (args) => [(name ??= programName(env)), args, ...flagsOf(options())].join(' '),
    withClient: async (use, wish = {}) => {
      // Loaded here, so that `--help` does not wait for gRPC.
      const { connect } = await import('../client/index.js');
      const { timeout, encryptionKeyFile: keyFile, json: _, as: __, approvers: ___, ...place } = options();
      const { address, namespace, readyMs, timeoutMs = TIMEOUT_MS } = wish;
      const client = await connect({
        ...place,
        env,
        ...defined({ address, namespace, readyMs }),
        timeoutMs: timeout === undefined ? timeoutMs : readTime(timeout, '--timeout', 1),
        encryption: defined({ keyFile }),
        identity: `${osUser()}@${hostname()}`,
      });
      try {
        return await use(client);
      } finally {
        await client.close();
      }
    },
  };
}

/** The person's user name on this machine. It is the approver's name unless `--as` gives another. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an account, as in some containers.
    return 'somebody';
  }
}

function flagsOf({ address, namespace, profile, encryptionKeyFile }: GlobalOptions): string[] {
  const flags = defined({ address, namespace, profile, 'encryption-key-file': encryptionKeyFile });
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, shellWord(value)]);
}

/**
 * A sentence in which each command of this program has the form in which a person types it. `name`: the name of the
 * program.
 */
export function asTyped(sentence: string, name: string, commands: readonly string[]): string {
  const named = new RegExp(
    `(?<![\\w/.-]|npx )countersign (?=(?:${commands.join('|')}|--help|<command>)(?![\\w-]))`,
    'g',
  );
  return sentence.replace(named, () => `${name} `);
}
