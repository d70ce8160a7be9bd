import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { defined } from '../../contract/defined';
import { CountersignError } from '../../contract/errors';
import { readPrivateFile, userStateDir } from '../../files';
import { nothingDone } from '../errors';
import { describeIssues, duration } from '../options';
import type { Duration, Tool } from '../types';
import { createBufferTools } from './buffer-tools';
import { createFormHistory } from './history';
import { attachImage, findOrStartImage, type LiveImage } from './image';
import { createSession } from './session';
import { createFormTools, createLookupTools } from './tools';

/** What a Lisp pack is made for. */
export interface LispOptions {
  /** Folder of the sources: for the tools over files and buffers, and where the image starts. @default no such tools; the image starts in the current folder */
  root?: string;
  /** `host:port` of a Swank server that runs already, instead of an image of our own. */
  swank?: string;
  /** The file with the secret of that server. @default `~/.slime-secret`, where it exists */
  secretFile?: string;
  /** The SBCL to start. @default 'sbcl' */
  program?: string;
  /** Lisp files that a new image loads first, such as the one that loads your system. */
  load?: readonly string[];
  /** Memory of the image for Lisp objects, in MiB. @default 1024 */
  heapMb?: number;
  /** Name of the image; packs with the same name and state folder share one. @default made from `root` */
  name?: string;
  /** Folder for what is remembered of images. @default the user's own state directory */
  stateDir?: string;
  /** Package for names and forms where a call names none. @default 'COMMON-LISP-USER' */
  package?: string;
  /** `ask`: each form waits for a person. `cautious`: forms are logged and run, although they can write any file. @default 'ask' */
  evaluate?: 'ask' | 'cautious';
  /** A form or a question is interrupted then. @default 30 s */
  timeout?: Duration;
  /** Bytes of output kept. @default 64 KiB */
  outputLimit?: number;
  /** The queue of the worker that has the image. @default the turn's own */
  taskQueue?: string;
}

const SWANK = /^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):(\d{1,5})$/;

const optionsSchema = z.strictObject({
  root: z.string().min(1).optional(),
  swank: z.string().regex(SWANK, 'must be host:port').optional(),
  secretFile: z.string().min(1).optional(),
  program: z.string().min(1).default('sbcl'),
  load: z.array(z.string().min(1)).default([]),
  heapMb: z
    .int()
    .min(64)
    .max(1024 * 1024)
    .default(1024),
  name: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be of letters, digits, _ and -')
    .optional(),
  stateDir: z.string().min(1).optional(),
  package: z.string().min(1).default('COMMON-LISP-USER'),
  evaluate: z.enum(['ask', 'cautious']).default('ask'),
  timeout: duration().optional(),
  outputLimit: z.int().optional(),
  taskQueue: z.string().min(1).optional(),
});
type Options = z.output<typeof optionsSchema>;

/**
 * Tools over a running Lisp image (SBCL), through Swank: looking things up is safe, running a form asks first. The image
 * is started at the first use, is a process of its own, and is found again by later workers.
 *
 * @throws CountersignError `config_invalid` for a wrong option.
 * @example
 * defineAgent({ name: 'lisper', instructions: '…', model, tools: createLispTools({ root: './src' }) });
 */
export function createLispTools(given: LispOptions = {}): Tool[] {
  const parsed = optionsSchema.safeParse(given);
  if (!parsed.success) throw invalid(describeIssues(parsed.error));
  const options = parsed.data;
  const { root, taskQueue, timeout, outputLimit } = options;
  const dir = folderOf(options);
  const history = createFormHistory(dir);
  const session = createSession({ history, open: () => openImage(options, dir) });
  const pack = {
    session,
    history,
    package: options.package,
    evaluation: options.evaluate === 'cautious' ? ('cautious' as const) : ('dangerous' as const),
    place: placeOf(options, dir),
    ...defined({ taskQueue, timeout, outputLimit }),
  };
  return [
    ...createLookupTools(pack),
    ...createFormTools(pack),
    ...(root === undefined ? [] : createBufferTools({ root, history, ...defined({ taskQueue }) })),
  ];
}

function invalid(message: string): CountersignError {
  return new CountersignError('config_invalid', `createLispTools: ${message}`, {
    hint: 'Correct what is given to createLispTools.',
  });
}

/** Each image has a folder of its own. */
function folderOf({ stateDir = userStateDir(), root = '.', swank, name }: Options): string {
  const known = swank ?? resolve(root);
  const made = createHash('sha256').update(known).digest('hex').slice(0, 16);
  return resolve(stateDir, 'lisp', name ?? made);
}

function placeOf({ swank, root = '.' }: Options, dir: string): string {
  return swank === undefined ? `the Lisp image of ${resolve(root)} (${dir})` : `the Lisp image at ${swank}`;
}

function openImage(options: Options, dir: string): Promise<LiveImage> {
  const { swank, root = '.', program, heapMb, load } = options;
  if (swank !== undefined) return attach(swank, options);
  return findOrStartImage({
    dir,
    program,
    heapMb,
    cwd: resolve(root),
    load: load.map((file) => resolve(file)),
  });
}

async function attach(swank: string, options: Options): Promise<LiveImage> {
  const [, host = '', port = ''] = SWANK.exec(swank) ?? [];
  const secret = secretOf(options);
  if (secret === undefined)
    process.emitWarning(
      `Swank at ${swank} asks for no secret: whoever reaches that port can run anything there`,
    );
  return attachImage({ host: host.replace(/^\[|\]$/g, ''), port: Number(port), ...defined({ secret }) });
}

/** The first line, as SLIME reads it. */
function secretOf({ secretFile }: Options): string | undefined {
  const path = secretFile ?? join(homedir(), '.slime-secret');
  const file = readPrivateFile(path);
  if ('text' in file) return file.text.split('\n')[0] ?? '';
  if (file.fault === 'missing' && secretFile === undefined) return undefined;
  throw nothingDone(`The secret of Swank cannot be read from ${path} (${file.fault}). Nothing was sent.`);
}
