/** What a grant says of a call that runs a program: a command that begins well may end badly. */
export const BY_EQUALITY = 'what a program runs is allowed by equality only';

/** Arguments of these names are run. */
const ARGUMENTS: readonly string[] = [
  'command',
  'cmd',
  'commandline',
  'argv',
  'script',
  'shell',
  'code',
  'sql',
];

/** Tools of these categories run what their arguments say. */
const CATEGORIES: readonly string[] = ['shell', 'execution'];

/** Whether a grant may allow an argument of this name by equality only. */
export function isRunArgument(name: string): boolean {
  return ARGUMENTS.includes(name.toLowerCase());
}

/** Whether a grant may allow every argument of a tool of these categories by equality only. */
export function isRunTool(categories: readonly string[]): boolean {
  return categories.some((one) => CATEGORIES.includes(one));
}
