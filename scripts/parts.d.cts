/** What tests need of the system, beside Node and npm. */
export type Part =
  'chromium' | 'bubblewrap' | 'ssh' | 'terminal' | 'openssl' | 'lisp' | 'postgres' | 'prometheus';

export interface PartOfSystem {
  title: string;
  /** Those of Debian and Ubuntu that bring it. */
  packages: string[];
  isHere(env: NodeJS.ProcessEnv): boolean;
}

export const PARTS: Record<Part, PartOfSystem>;

/** The names of the parts that are not here. */
export function missingParts(env?: NodeJS.ProcessEnv): Part[];

/** The command that installs parts. */
export function installCommand(names: readonly Part[]): string;

/** The program of `COUNTERSIGN_CHROMIUM` or of PATH. */
export function chromiumOfSystem(env: NodeJS.ProcessEnv): string | undefined;

/** The folder of what an npm package brings for this platform. */
export function packagedChromium(): string | undefined;

/** The folder of PostgreSQL's programs: of `COUNTERSIGN_POSTGRES_BIN`, of PATH, or where systems keep them. */
export function postgresFolder(env: NodeJS.ProcessEnv): string | undefined;
