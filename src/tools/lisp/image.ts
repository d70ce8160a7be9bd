import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { errnoOf, errorMessage } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { readIfThere, readPrivateFile, replaceFile } from '../../system/files';
import { isAlive, withLock } from '../../system/lock';
import { LOOPBACK_HOST } from '../../system/loopback';
import { nothingDone } from '../errors';
import { killLeftBehind, markedEnvironment, newMark } from '../run-process';
import { environmentOf, VISIBLE } from '../shell-tools';
import { isList, lispSymbol, printSexp, type Sexp } from './sexp';
import { connectSwank, type Swank, type SwankAddress } from './swank';
import { sha256 } from '../../system/sha256';

/** The settings for starting our own image, and the folder with its records. */
interface ImagePlan {
  /** The folder of the image's files, for its owner only. */
  dir: string;
  /** The SBCL to run. */
  program: string;
  /** The working directory of the image. */
  cwd: string;
  /** Files that are loaded before anything else. */
  load: readonly string[];
  heapMb: number;
}

/** An image that runs, and a connection to it. */
export interface LiveImage {
  swank: Swank;
  /** The id of the image's process. Absent for an image that somebody else started. */
  pid?: number;
  /** Whether the image was started just now. */
  isNew: boolean;
  /** After the connection ended: how the process ended, in words. Absent for an image that somebody else started. */
  whyEnded?(): Promise<string>;
  /** Ends the process and all processes that it started. Absent for an image that somebody else started. */
  kill?(): Promise<void>;
}

/** The record of an image that this worker or an earlier worker started. */
const recordSchema = z.strictObject({ secret: z.string(), mark: z.string(), token: z.string() });
const portSchema = z.strictObject({ pid: z.int().positive(), port: z.int().min(1).max(65_535) });
type Record = z.output<typeof recordSchema>;

const recordFile = (dir: string) => join(dir, 'image.json');
const portFile = (dir: string, { token }: Record) => join(dir, `port-${token}.json`);
const logFile = (dir: string) => join(dir, 'image.log');

/** Finds the image of a folder, or starts an image. One process at a time does this. */
export async function findOrStartImage(plan: ImagePlan): Promise<LiveImage> {
  await mkdir(plan.dir, { recursive: true, mode: 0o700 });
  const options = { progress: () => undefined, what: 'A Lisp image is being started' };
  // One lock for all images of a state folder, because they share the compiled files of Swank.
  return withLock(join(dirname(plan.dir), 'lock'), options, async () => (await find(plan)) ?? start(plan));
}

/** Connects to an image that somebody else started. */
export async function attachImage(address: SwankAddress): Promise<LiveImage> {
  return { swank: await connectReady(address), isNew: false };
}

/**
 * Connects to the recorded image. If the image does not answer with its secret, ends the processes that are left of the
 * image.
 */
async function find({ dir }: ImagePlan) {
  const record = readRecord(dir);
  if (record === undefined) return undefined;
  const place = await readPort(dir, record);
  const swank = place && (await connectReady(addressOf(place.port, record)).catch(() => undefined));
  if (place !== undefined && swank !== undefined)
    return toLive({ swank, pid: place.pid, isNew: false }, dir, record);
  await endProcess(place?.pid, record);
  await rm(portFile(dir, record), { force: true });
  return undefined;
}

function toLive(image: LiveImage & { pid: number }, dir: string, record: Record): LiveImage {
  const { pid, swank } = image;
  const whyEnded = async () => {
    if (await outlives(pid)) return `process ${pid} still runs`;
    const fatal = fatalIn(await logOf(dir));
    return `process ${pid} has ended${fatal === '' ? '' : `; it said: ${fatal}`}`;
  };
  const kill = async () => {
    await endProcess(pid, record);
    swank.close();
  };
  return { ...image, whyEnded, kill };
}

/** The time that we wait for a process to end after its connection has ended. */
const END_MS = 500;

async function outlives(pid: number) {
  for (const deadline = performance.now() + END_MS; isAlive(pid); await sleep(LOOK_MS))
    if (performance.now() > deadline) return true;
  return false;
}

const logOf = async (dir: string) => (await readFile(logFile(dir), 'utf8').catch(() => '')).trim();

/** The beginning of SBCL's report if SBCL itself crashed. */
const fatalIn = (log: string) => /^fatal error[^]{0,300}?(?=\n\n|$)/m.exec(log)?.[0] ?? '';

/** The record of a folder's image. Undefined also for an incomplete record. */
function readRecord(dir: string): Record | undefined {
  const file = readPrivateFile(recordFile(dir), { strict: true });
  return 'text' in file ? recordSchema.safeParse(parseJson(file.text)).data : undefined;
}

async function readPort(dir: string, record: Record) {
  return portSchema.safeParse(parseJson((await readIfThere(portFile(dir, record))) ?? '')).data;
}

const addressOf = (port: number, { secret }: Record): SwankAddress => ({ host: LOOPBACK_HOST, port, secret });

/**
 * Ends an image's processes. Its id comes from a file, so by now it may be the id of another process or session. On
 * Linux only the mark decides.
 */
async function endProcess(pid: number | undefined, { mark }: Record) {
  if (process.platform === 'linux') await killLeftBehind(undefined, mark);
  else if (pid !== undefined && isAlive(pid)) await killLeftBehind(pid, mark);
}

/** A start may take this long, because the first start compiles Swank. */
const START_MS = 120_000;
const LOOK_MS = 20;

async function start(plan: ImagePlan): Promise<LiveImage> {
  const secret = randomBytes(24).toString('hex');
  const record = { secret, mark: newMark(), token: randomBytes(8).toString('hex') };
  await replaceFile(recordFile(plan.dir), JSON.stringify(record));
  await replaceFile(join(plan.dir, 'start.lisp'), startText(plan, record));
  const failed = await launch(plan, record);
  const place = await waitForPort(plan, record, failed);
  const swank = await connectReady(addressOf(place.port, record));
  return toLive({ swank, pid: place.pid, isNew: true }, plan.dir, record);
}

/** Starts the process. The returned function says why the process ended. Undefined while the process runs. */
async function launch(plan: ImagePlan, { mark }: Record) {
  let ended: string | undefined;
  const log = await open(logFile(plan.dir), 'w', 0o600);
  try {
    const child = spawn(plan.program, argumentsOf(plan), {
      cwd: plan.cwd,
      env: { ...environmentOf(VISIBLE), ...markedEnvironment(mark) },
      stdio: ['ignore', log.fd, log.fd],
      // The image outlives this worker.
      detached: true,
    });
    child.once('error', (error) => (ended = whyNotStarted(error, plan)));
    child.once('exit', (code, signal) => (ended ??= `it ended with ${signal ?? `exit code ${code}`}`));
    child.unref();
  } finally {
    await log.close();
  }
  return () => ended;
}

/** `--disable-ldb`: an image that crashes ends, and does not wait for a person in a debugger. */
function argumentsOf({ dir, heapMb }: ImagePlan) {
  const runtime = ['--noinform', '--disable-ldb', '--dynamic-space-size', `${heapMb}MB`];
  return [
    ...runtime,
    '--end-runtime-options',
    '--no-sysinit',
    '--no-userinit',
    '--load',
    join(dir, 'start.lisp'),
  ];
}

/** The advice if SBCL or Swank is missing. */
const INSTALL = 'Install both (Debian: apt-get install sbcl cl-swank), or name another SBCL with `program`.';

function whyNotStarted(error: unknown, { program, cwd }: ImagePlan) {
  if (errnoOf(error) === 'ENOENT')
    return `there is no program "${program}" here, or no folder ${cwd}. The Lisp tools need SBCL and Swank. ${INSTALL}`;
  return errorMessage(error);
}

async function waitForPort(plan: ImagePlan, record: Record, failed: () => string | undefined) {
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; await sleep(LOOK_MS)) {
    const place = await readPort(plan.dir, record);
    if (place !== undefined) return place;
    const why = failed();
    if (why !== undefined) throw notStarted(why, (await logOf(plan.dir)).slice(-1500));
  }
  await endProcess(undefined, record);
  throw notStarted(`it was not ready after ${START_MS / 1000} s`, '');
}

function notStarted(why: string, said: string): Error {
  return nothingDone(
    `The Lisp image could not be started: ${why}${said === '' ? '' : `\nIt said:\n${said}`}`,
  );
}

const LOADERS = [
  '/usr/share/common-lisp/source/slime/swank-loader.lisp',
  '/usr/share/common-lisp/source/swank/swank-loader.lisp',
];

/**
 * The Lisp code that an image runs first. The image listens on loopback only, asks for the secret, and keeps listening
 * whatever a stranger sends. An image ends if another image has replaced it in the meantime.
 */
function startText({ dir, load }: ImagePlan, record: Record) {
  const [secret, token] = [printSexp(record.secret), printSexp(record.token)];
  const [port, draft] = [native(portFile(dir, record)), native(`${portFile(dir, record)}.draft`)];
  return `(setf *invoke-debugger-hook* (lambda (condition hook) (declare (ignore hook))
  (format *error-output* "~&~A~%" condition) (finish-output *error-output*) (sb-ext:exit :code 3 :abort t)))
${load.map((file) => `(load ${native(file)})`).join('\n')}
(let ((loader (find-if #'probe-file '${printSexp(LOADERS)})))
  (cond ((find-package "SWANK"))
        (loader
          (load loader)
          (setf (symbol-value (find-symbol "*FASL-DIRECTORY*" "SWANK-LOADER"))
                (merge-pathnames
                  (make-pathname :directory (list :relative (funcall (find-symbol "SLIME-VERSION-STRING" "SWANK-LOADER"))
                                                  (funcall (find-symbol "UNIQUE-DIR-NAME" "SWANK-LOADER"))))
                  ${native(join(dirname(dir), 'fasl', '/'))}))
          (funcall (find-symbol "INIT" "SWANK-LOADER") :setup nil :load-contribs nil :quiet t))
        (t (error ${printSexp(`Swank is not here: ${LOADERS.join(', ')} do not exist. ${INSTALL}`)}))))
(setf swank::*global-debugger* nil)
(defun swank::slime-secret () ${secret})
(defun swank::background-error (condition hook) (declare (ignore condition hook)) (sb-thread:abort-thread))
(let ((socket (swank/backend:create-socket "127.0.0.1" 0)))
  (dotimes (index 4)
    (sb-thread:make-thread
      (lambda () (loop (handler-case (swank::accept-connections socket :spawn t) (error () (sleep 0.01)))))
      :name "swank listener"))
  (with-open-file (in ${native(recordFile(dir))})
    (unless (search ${token} (read-line in)) (sb-ext:exit :code 4 :abort t)))
  (with-open-file (out ${draft} :direction :output :if-exists :supersede)
    (format out "{\\"pid\\":~D,\\"port\\":~D}" (sb-posix:getpid) (swank/backend:local-port socket)))
  (rename-file ${draft} ${port}))
(setf *invoke-debugger-hook* #'swank::background-error *package* (find-package "COMMON-LISP-USER"))
(setf sb-impl::*stdin* (make-concatenated-stream) sb-impl::*stdout* (make-broadcast-stream)
      sb-impl::*stderr* (make-broadcast-stream))
(loop (handler-case (sleep 3600) (error () nil)))
`;
}

/** A Lisp expression for a path, in which no character is read as a pattern. */
const native = (path: string) => `(sb-ext:parse-native-namestring ${printSexp(path)})`;

/** Connects, and loads our Lisp code into the image if the image does not have this version of it. */
async function connectReady(address: SwankAddress): Promise<Swank> {
  const swank = await connectSwank(address);
  try {
    if (!isNil(await swank.request(EXIT_QUESTION))) throw new Error('the image is about to end');
    const { version, text } = readSupport();
    if ((await swank.request(VERSION_QUESTION)) !== version)
      await swank.request([lispSymbol('swank:interactive-eval-region'), text]);
    return swank;
  } catch (error) {
    swank.close();
    throw error;
  }
}

/** Our Lisp code and its version. We read the file again at each connection, because connections are rare. */
function readSupport() {
  const text = readFileSync(join(__dirname, 'image.lisp'), 'utf8');
  const version = sha256(text).slice(0, 16);
  return { version, text: `${text}\n(defparameter *version* ${printSexp(version)})\n` };
}

/** A form for the value of a variable, or nil. The name is looked up as data, because the variable may not exist. */
const valueOf = (name: string, packageName: string): Sexp => [
  lispSymbol('cl:ignore-errors'),
  [lispSymbol('cl:symbol-value'), [lispSymbol('cl:find-symbol'), name, packageName]],
];

const VERSION_QUESTION = valueOf('*VERSION*', 'COUNTERSIGN.IMAGE');

/** Asks whether the image is about to end: such an image may still accept connections. */
const EXIT_QUESTION = valueOf('*EXIT-IN-PROGRESS*', 'SB-IMPL');

const isNil = (form: Sexp) => isList(form) && form.length === 0;
