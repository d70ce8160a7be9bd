import { type McpStart, variablesIn } from './declare';

/** A program that downloads the package that it runs. */
interface Fetcher {
  /** Options to skip. */
  flags: readonly string[];
  /** Options that name the package. To `uvx`, `-p` means the Python. */
  naming: readonly string[];
  /** The pattern of a package's exact name. */
  package: RegExp;
}

const NPM_PACKAGE = /^(@[^/@]+\/)?[^/@]+@\d+\.\d+\.\d+(-[\w.]+)?$/;
const NPM_NAMING = ['-p', '--package'];

/** A package that Deno downloads, or a script at an address, which nothing pins. */
const DENO_REMOTE = /^(npm|jsr|https?):/i;
const DENO_EXACT = /^(npm|jsr):\/?(@[^/@]+\/)?[^/@]+@\d+\.\d+\.\d+(-[\w.]+)?(\/.*)?$/;

const FETCHERS: Readonly<Record<string, Fetcher>> = {
  npx: { flags: ['-y', '--yes', '-q', '--quiet'], naming: NPM_NAMING, package: NPM_PACKAGE },
  bunx: { flags: [], naming: NPM_NAMING, package: NPM_PACKAGE },
  // To pnpm, `-p` does not name the package.
  pnpx: { flags: ['-s', '--silent'], naming: ['--package'], package: NPM_PACKAGE },
  pnx: { flags: ['-s', '--silent'], naming: ['--package'], package: NPM_PACKAGE },
  dx: { flags: [], naming: [], package: DENO_EXACT },
  uvx: {
    flags: ['-q', '--quiet'],
    naming: ['--from'],
    package: /^[\w.-]+(\[[\w,-]+\])?(==|@)\d+(\.\d+)+[abrc.\w]*$/,
  },
};

/** Other commands that download the package that they run, by program and command. npm also takes `exe` as `exec`. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  npm: ['exec', 'exe', 'x', 'init', 'create', 'innit'],
  pnpm: ['dlx', 'create'],
  yarn: ['dlx', 'create'],
  bun: ['x', 'create', 'c'],
  uv: ['tool', 'x'],
  pipx: ['run'],
  deno: ['x', 'create'],
};

/** Programs that start another program, and the arguments that stand before it. */
const WRAPPERS: Readonly<Record<string, RegExp>> = {
  env: /^(-|\w+=)/,
  cmd: /^\/\w$/,
  corepack: /^-/,
};

/** Options of Deno whose next word is never their value. */
const DENO_FLAG = /^(-A|-q|--quiet|--(allow|deny|no)-[\w-]+|.*=.*)$/;

/**
 * Why a server may not be started as it is declared, even if people allowed it. Undefined if it may be started. A
 * package without an exact version may be a different program tomorrow.
 */
export function whyNotStarted(start: McpStart): string | undefined {
  if (start.kind === 'http') return whyNotReached(start.url);
  return whyNotPinned(start.command, start.args);
}

function whyNotPinned(command: string, args: readonly string[]): string | undefined {
  const file = command.replaceAll('\\', '/').split('/').at(-1) ?? '';
  const program = file.replace(/\.(cmd|exe|ps1)$/i, '').toLowerCase();
  const before = of(WRAPPERS, program);
  if (before !== undefined) {
    const at = args.findIndex((word) => !before.test(word));
    return at === -1 ? undefined : whyNotPinned(args[at] ?? '', args.slice(at + 1));
  }
  const alias = aliasIn(args, of(ALIASES, program) ?? []);
  if (alias !== undefined) return `${program} ${alias} cannot be checked; write it with npx or uvx`;
  if (program === 'deno') return whyNotDeno(args);
  const fetcher = of(FETCHERS, program);
  if (fetcher === undefined) return undefined;
  const packages = packagesIn(args, fetcher);
  const isExact = packages.length > 0 && packages.every((one) => fetcher.package.test(one));
  return isExact ? undefined : `${program} needs a package with an exact version, such as name@1.2.3`;
}

function of<T>(table: Readonly<Record<string, T>>, name: string) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/**
 * The command among the arguments that downloads a package. After an option any word may be the command, because we do
 * not know which options take a value.
 */
function aliasIn(args: readonly string[], aliases: readonly string[]): string | undefined {
  const [first = ''] = args;
  const places = first.startsWith('-') ? args : [first];
  return places.find((word) => aliases.includes(word));
}

/** The same for Deno, which runs a package or an address as it runs a file. */
function whyNotDeno(args: readonly string[]): string | undefined {
  const isScript = (word: string, at: number) =>
    at > 0 && !word.startsWith('-') && !mayTakeNext(args[at - 1] ?? '');
  const script = args.findIndex(isScript);
  const named = (script === -1 ? args : args.slice(0, script + 1)).filter((word) => DENO_REMOTE.test(word));
  if (named.every((word) => DENO_EXACT.test(word))) return undefined;
  return 'deno needs a package with an exact version, such as npm:name@1.2.3';
}

function mayTakeNext(option: string) {
  return option.startsWith('-') && !DENO_FLAG.test(option);
}

/** The packages that a command line downloads. Empty if the command line has an option that we do not know. */
function packagesIn(args: readonly string[], { flags, naming }: Fetcher) {
  const named: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (naming.includes(word)) named.push(args[++at] ?? '');
    else if (!word.startsWith('-')) return named.length > 0 ? named : [word];
    else if (!flags.includes(word)) return [];
  }
  return named;
}

function whyNotReached(url: string): string | undefined {
  if (variablesIn(url).length > 0) return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol))
    return 'its address is not one of http or https';
  const hasCredentials = parsed.username !== '' || parsed.password !== '';
  return hasCredentials ? 'its address holds a name or a password; use `headers`' : undefined;
}
