import { constants } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { z } from 'zod';
import { isSeenBy, type Permit, UNKNOWN_AGENT } from '../authority/rules/permits';
import { REFUSAL_CODES, type RefusalCode } from '../contract/decision';
import { parseJson } from '../contract/json';
import { makeFolderOf, readIfThere, unlessMissing } from '../system/files';

/** A refused decision, resolution or answer. Its arguments and its reason are not stored. */
export interface LoggedRefusal {
  /** When the message was refused, as ISO 8601. */
  at: string;
  namespace: string;
  /** The signed-in user who sent the message. */
  user: string;
  /** The agent of the turn, and the agents of the turns that led to it. Absent: the agents are not known. */
  agent?: string;
  callers?: string[];
  turn: string;
  callId: string;
  what: 'decision' | 'resolution' | 'answer';
  code: RefusalCode;
  /** Set with `already_decided`: the decision that stands. */
  standing?: { decision: string; approver: string; at: string };
}

/** The number of refusals by code. A code without refusals is absent. */
export type RefusalCounts = Partial<Record<RefusalCode, number>>;

/** The refusals to read: from one namespace and since one moment (ISO 8601), if these are given. */
interface RefusalQuery {
  /** Only refusals whose turn may be seen. @default all */
  agents?: Permit['agents'];
  namespace?: string;
  since?: string;
}

/** The options of a refusal log. */
interface RefusalLogOptions {
  /** A file of JSON Lines. Older lines are in `<file>.1`. */
  file: string;
  /** The size in bytes from which the file is rotated. @default 1 MiB */
  rotateAt?: number;
  /** Called with the error if a refusal could not be written. */
  report(error: unknown): void;
}

/** The size of about 5,000 refusals. Fewer come in months, and counting this many is fast. */
const ROTATE_AT = 1024 * 1024;
const HOW = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;

/** Keeps refusals in a file that only its owner may read, because a refused update leaves no event in history. */
export class RefusalLog {
  /** Refusals are written one after the other, because two rotations at the same time would lose a file. */
  private written = Promise.resolve();

  constructor(private readonly options: RefusalLogOptions) {}

  /** Adds a refusal. Never rejects, because the answer is already known. A failure goes to `report`. */
  add(refusal: LoggedRefusal): Promise<void> {
    const { file, rotateAt = ROTATE_AT, report } = this.options;
    return (this.written = this.written.then(() => append(file, refusal, rotateAt)).catch(report));
  }

  /** The number of refusals by code. Rejects if the file cannot be read. */
  async counts(query: RefusalQuery): Promise<RefusalCounts> {
    const counts: RefusalCounts = {};
    for (const { code } of await this.list(query)) counts[code] = (counts[code] ?? 0) + 1;
    return counts;
  }

  /** The refusals, newest first. Rejects if the file cannot be read. */
  async list(query: RefusalQuery): Promise<LoggedRefusal[]> {
    await this.written;
    return readRefusals(this.options.file, query);
  }
}

/** The refusals of a log, newest first. Another process may be writing the log. Rejects if the log cannot be read. */
async function readRefusals(
  file: string,
  { namespace, since = '', agents = 'all' }: RefusalQuery,
): Promise<LoggedRefusal[]> {
  const lines = [...(await linesOf(`${file}.1`)), ...(await linesOf(file))];
  const all = lines.flatMap(parseLine);
  const isWanted = (one: LoggedRefusal) =>
    one.namespace === (namespace ?? one.namespace) &&
    one.at >= since &&
    isSeenBy({ agents }, { ...one, agent: one.agent ?? UNKNOWN_AGENT });
  return all.filter(isWanted).reverse();
}

async function append(file: string, refusal: LoggedRefusal, rotateAt: number) {
  await makeFolderOf(file);
  if ((await sizeOf(file)) >= rotateAt) await rename(file, `${file}.1`);
  const handle = await open(file, HOW, 0o600);
  try {
    // Other users may be able to read an existing file.
    await handle.chmod(0o600);
    await handle.write(`${JSON.stringify(refusal)}\n`);
  } finally {
    await handle.close();
  }
}

const refusalSchema = z.object({
  at: z.string(),
  namespace: z.string(),
  user: z.string(),
  agent: z.string().optional(),
  callers: z.array(z.string()).optional(),
  turn: z.string(),
  callId: z.string(),
  what: z.enum(['decision', 'resolution', 'answer']),
  code: z.enum(REFUSAL_CODES),
  standing: z.object({ decision: z.string(), approver: z.string(), at: z.string() }).optional(),
});

/** Reads a line. A line that was cut off when the machine died, or that comes from a newer version, is skipped. */
function parseLine(line: string): LoggedRefusal[] {
  const parsed = refusalSchema.safeParse(parseJson(line));
  return parsed.success ? [parsed.data] : [];
}

async function linesOf(file: string) {
  return (await readIfThere(file))?.split('\n') ?? [];
}

async function sizeOf(file: string) {
  return (await unlessMissing(stat(file)))?.size ?? 0;
}
