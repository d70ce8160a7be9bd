import { z } from 'zod';
import type { Safety } from '../../contract/tool';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import type { ArgumentsOf, Tool } from '../types';
import { isWellFormed } from '../../contract/text/bytes';
import type { FormHistory } from './history';
import type { createSession } from './session';

const filled = z.string().min(1);

/** The settings that all tools of one pack share. */
interface LispPack {
  session: ReturnType<typeof createSession>;
  history: FormHistory;
  /** The package in which a name or a form is read, unless the call names another package. */
  package: string;
  /** The safety of the tools that run forms. */
  evaluation: Safety;
  /** The image in words, for the person who approves a form. */
  place: string;
  timeout?: number | string;
  outputLimit?: number;
  taskQueue?: string;
}

/** Matches only the name of a symbol. It does not match text for which Lisp's reader would do more than read a name. */
const NAME =
  /^(?:(?:(?<package>[^\s:|()"'`;,\\#][^\s:|()"'`;,\\]*)?(?<colons>::?))?(?:\|(?<exact>[^|\\]*)\||(?<plain>[^\s:|()"'`;,\\#][^\s:|()"'`;,\\]*)))$/u;

/**
 * Parses a symbol name from a model, as Lisp's reader would, but without Lisp.
 *
 * @throws ToolError for text that is more than a name, such as `#.(run)`.
 */
export function parseSymbolName(given: string, fallback: string) {
  const { package: prefix, colons, exact, plain = '' } = NAME.exec(given.trim())?.groups ?? {};
  if ((exact === undefined && plain === '') || !isWellFormed(given))
    throw new ToolError(
      `${JSON.stringify(given.slice(0, 200))} is not the name of a symbol. Nothing was evaluated. Give a name such as car or my-package:my-function.`,
    );
  const own = colons === undefined ? fallback : 'KEYWORD';
  return { name: exact ?? upcase(plain), package: prefix ?? own };
}

/** Upper case as in Lisp: a letter whose upper case has two letters stays as it is. */
function upcase(text: string) {
  return Array.from(text, (letter) => {
    const upper = letter.toUpperCase();
    return upper.length === letter.length ? upper : letter;
  }).join('');
}

/** The tools that only look things up: they evaluate no argument. */
export function createLookupTools(pack: LispPack): Tool[] {
  const named = nameTool(pack);
  return [
    named('symbol', {
      name: 'describe_symbol',
      description:
        'Get detailed information about a Lisp symbol including its type, value, documentation, and definition location.',
      about: 'The symbol name to describe',
    }),
    aproposSearch(pack),
    named('function', {
      name: 'function_arglist',
      description:
        'Get the argument list (lambda list) for a function. Shows required, optional, rest, and keyword parameters.',
      about: 'Function name',
    }),
    named('function', {
      name: 'who_calls',
      description:
        'Find all functions that call the specified function, from the cross-reference data of the image.',
      about: 'Function name to find callers of',
    }),
    named('variable', {
      name: 'who_references',
      description: 'Find all code that references (reads) the specified variable or constant.',
      about: 'Variable or constant name',
    }),
    listPackageSymbols(pack),
    named('class', {
      name: 'class_slots',
      description: 'Get slot definitions for a CLOS class including names, types, initargs, and initforms.',
      about: 'Class name',
    }),
    named('class', {
      name: 'class_hierarchy',
      description:
        'Get the superclasses and direct subclasses of a CLOS class. Shows the class precedence list.',
      about: 'Class name',
    }),
    macroexpandForm(pack),
  ];
}

const shared = ({ taskQueue, timeout, outputLimit }: LispPack) => ({ taskQueue, timeout, outputLimit });

const packageIn = ({ package: name }: LispPack) => filled.default(name).describe('Package name (optional)');

/** A tool that asks about one name. */
interface NameTool {
  name: string;
  description: string;
  about: string;
}

function nameTool(pack: LispPack) {
  return (parameter: string, { name, description, about }: NameTool) =>
    defineTool({
      ...shared(pack),
      name,
      description,
      categories: ['lisp', 'introspection'],
      parameters: z.strictObject({
        [parameter]: filled.max(500).describe(about),
        package: packageIn(pack),
      }),
      handler: (args, context) => {
        const found = parseSymbolName(args[parameter] ?? '', args['package'] ?? pack.package);
        return pack.session.ask(name, [found.name, found.package], context);
      },
    });
}

function aproposSearch(pack: LispPack) {
  return defineTool({
    ...shared(pack),
    name: 'apropos_search',
    description:
      'Search for symbols matching a pattern. Returns symbol names, types, and packages. Useful for discovering available functions and variables.',
    categories: ['lisp', 'introspection'],
    parameters: z.strictObject({
      pattern: filled.max(500).describe('Search pattern (substring match, case-insensitive)'),
      package: filled.optional().describe('Limit search to this package (optional)'),
    }),
    handler: ({ pattern, package: name = '' }, context) =>
      pack.session.ask('apropos_search', [sound(pattern), sound(name)], context),
  });
}

function listPackageSymbols(pack: LispPack) {
  return defineTool({
    ...shared(pack),
    name: 'list_package_symbols',
    description:
      'List all exported symbols from a package with their types. Optionally include internal symbols.',
    categories: ['lisp', 'introspection'],
    parameters: z.strictObject({
      package: filled.describe('Package name'),
      include_internal: z.boolean().default(false).describe('Include internal symbols'),
    }),
    handler: (args, context) =>
      pack.session.ask('list_package_symbols', [sound(args.package), String(args.include_internal)], context),
  });
}

function macroexpandForm(pack: LispPack) {
  return defineTool({
    ...shared(pack),
    name: 'macroexpand_form',
    description:
      'Expand the macro that a Lisp form calls. Use for understanding macro transformations. The form itself is not evaluated.',
    categories: ['lisp', 'introspection'],
    parameters: z.strictObject({
      form: filled.describe('The Lisp form to expand (as a string)'),
      full: z.boolean().default(false).describe('Expand until no macro is called any more, not just once'),
      package: packageIn(pack),
    }),
    handler: ({ form, full, package: name }, context) =>
      pack.session.ask('macroexpand_form', [sound(form), String(full), sound(name)], context),
  });
}

/** Refuses text with half a character, so that Lisp gets a text exactly as it was shown. */
function sound(text: string) {
  if (!isWellFormed(text))
    throw new ToolError('The text holds half a character (a lone surrogate). Nothing ran.');
  return text;
}

/** The tools that run forms, and the tools that report how forms ended. */
export function createFormTools(pack: LispPack): Tool[] {
  return [
    formTool(pack, {
      mode: 'eval',
      name: 'eval_form',
      description:
        'Evaluate a Lisp form in the running image and return its values and output. Use it to test code, check values, or run computations.',
    }),
    formTool(pack, {
      mode: 'compile',
      name: 'compile_form',
      description:
        'Compile a Lisp form and load it into the image. Typically used for definitions (defun, defclass, etc.). Returns the notes of the compiler with their positions.',
    }),
    getLastError(pack),
    getReplHistory(pack),
  ];
}

function formTool(
  pack: LispPack,
  { mode, ...tool }: Omit<NameTool, 'about'> & { mode: 'eval' | 'compile' },
): Tool {
  const parameters = z.strictObject({
    form: filled.describe('One Lisp form (as a string)'),
    package: packageIn(pack),
  });
  const verb = mode === 'eval' ? 'Evaluates' : 'Compiles and loads';
  return defineTool({
    ...shared(pack),
    ...tool,
    categories: ['lisp', 'execution'],
    parameters,
    safety: pack.evaluation,
    effect: 'unsafe',
    preview: ({ form, package: name }: ArgumentsOf<typeof parameters>) =>
      `${verb} in package ${JSON.stringify(name)} of ${pack.place}, WITHOUT a sandbox:\n${form}`,
    handler: ({ form, package: name }, context) =>
      pack.session.run({ mode, form: sound(form), package: sound(name) }, context),
  });
}

function getLastError({ history, ...pack }: LispPack) {
  return defineTool({
    taskQueue: pack.taskQueue,
    name: 'get_last_error',
    description:
      'Get details about the most recent error including the condition, the form that caused it, the restarts and the backtrace. Useful after a failed eval_form or compile_form.',
    categories: ['lisp', 'execution'],
    parameters: z.strictObject({}),
    handler: () => history.describeError(),
  });
}

function getReplHistory({ history, ...pack }: LispPack) {
  return defineTool({
    taskQueue: pack.taskQueue,
    name: 'get_repl_history',
    description:
      'Get recent REPL interactions (forms run with eval_form and compile_form, and their results), and when the image was started anew.',
    categories: ['lisp', 'execution'],
    parameters: z.strictObject({
      limit: z.int().min(1).max(50).default(10).describe('Number of recent interactions to return'),
    }),
    handler: ({ limit }) => history.describe(limit),
  });
}
