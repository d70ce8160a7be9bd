import { Context } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import { QUERIES } from '../contract/names';
import { digestAfter, recordEntries } from '../contract/session/conversation';
import {
  cutContent,
  dropOutputs,
  entryBytes,
  resultEntry,
  type TranscriptEntry,
  type TranscriptPage,
  type TranscriptQuery,
  wordsEntry,
} from '../contract/transcript';
import type { TurnRecord } from '../contract/session';
import type { SessionRef, ThinkInput, ThinkOutput } from '../contract/think';
import { MIB } from '../contract/limits';
import { isNotFound } from '../history/server-errors';
import { ModelError } from '../models/model';
import type { Agent } from '../tools/define-agent';
import type { Secrets } from '../tools/secrets';
import { readContext, type TurnFacts, withContext } from '../tools/hooks';

/** The most bytes of transcripts and results in the memory of a worker. The least recently used are dropped first. */
const WORKER_MEMORY_BYTES = 64 * MIB;

/** A conversation, and the bytes that its entries count for. */
interface Conversation {
  entries: readonly TranscriptEntry[];
  bytes: number;
}

/** The conversation of a step, from memory. If parts are missing there, it is read from the turn itself. */
export async function conversationOf(input: ThinkInput, memory: Memory): Promise<Conversation> {
  const known = fromMemory(input, memory);
  if (known !== undefined && input.droppedBefore === 0) return known;
  const entries = dropOutputs(known?.entries ?? (await readTranscript()), input.droppedBefore);
  return { entries, bytes: bytesOf(entries) };
}

function fromMemory(input: ThinkInput, memory: Memory): Conversation | undefined {
  const words = input.words.map((text, index) => wordsEntry({ text, files: input.files?.[index] }));
  if (input.after === undefined) return { entries: words, bytes: bytesOf(words) };
  const known = memory.transcript(runOf(), input.after.replyId);
  if (known?.entries.length !== input.after.count) return undefined;
  const results = resultEntries(input, known.entries, memory);
  if (results === undefined) return undefined;
  const added = [...results, ...words];
  return { entries: [...known.entries, ...added], bytes: known.bytes + bytesOf(added) };
}

function resultEntries(
  input: ThinkInput,
  entries: readonly TranscriptEntry[],
  memory: Memory,
): TranscriptEntry[] | undefined {
  const reply = entries.at(-1);
  const calls = reply?.kind === 'reply' ? reply.calls : [];
  const results: TranscriptEntry[] = [];
  for (const ref of input.results) {
    const call = calls.find((one) => one.callId === ref.callId);
    const content = ref.text ?? memory.content(ref.digest);
    if (call === undefined || content === undefined) return undefined;
    const text = input.cutTo === undefined ? content : cutContent(content, input.cutTo);
    results.push(resultEntry(call, { content: text, success: ref.success }));
  }
  return results;
}

/** The facts that decide what the model knows before a conversation. */
interface KnownQuestion {
  agent: Agent;
  input: ThinkInput;
  /** The conversation so far. */
  entries: readonly TranscriptEntry[];
  about: Omit<TurnFacts, 'prompt' | 'signal' | 'secrets'>;
  signal: AbortSignal;
  secrets: Secrets | undefined;
}

/**
 * What the model knows before the conversation: the context that was recorded or, for the first reply of a turn, the
 * context that the agent makes. `agent`: its instructions contain the context. `recorded`: what to record with the reply.
 */
export async function knownBefore(
  question: KnownQuestion,
): Promise<{ agent: Agent; recorded: Pick<ThinkOutput, 'context'> }> {
  const { agent, input, entries } = question;
  const isFirst = input.after === undefined;
  const context = isFirst ? (input.context ?? (await askContext(question))) : contextIn(entries);
  const knowing = { ...agent, instructions: withContext(agent.instructions, context) };
  return { agent: knowing, recorded: isFirst ? { context } : {} };
}

async function askContext({ agent, input, about, signal, secrets }: KnownQuestion) {
  if (agent.context === undefined) return undefined;
  const get = (name: string) =>
    secrets === undefined ? Promise.reject(new Error('no secrets are set')) : secrets.get(name, signal);
  const facts = { ...about, prompt: input.words.join('\n\n'), signal, secrets: { get } };
  try {
    return await readContext(agent.context, facts, (text) => secrets?.hide(text) ?? text);
  } catch (error) {
    // A retry would lead to the same error.
    throw error instanceof TypeError ? new ModelError('request', error.message, { retryable: false }) : error;
  }
}

/** The run that the conversation belongs to. A reset or continue-as-new makes another run. */
export function runOf(): string {
  const execution = Context.current().info.workflowExecution;
  return `${execution?.workflowId ?? ''}/${execution?.runId ?? ''}`;
}

/** Reads the whole transcript from the run that scheduled this activity. */
function readTranscript(): Promise<TranscriptEntry[]> {
  const { workflowId = '', runId = '' } = Context.current().info.workflowExecution ?? {};
  return readPages({ workflowId, runId }, 0);
}

/** Reads a transcript from an index on, page by page. */
async function readPages(
  of: { workflowId: string; runId: string },
  first: number,
): Promise<TranscriptEntry[]> {
  const handle = Context.current().client.workflow.getHandle(of.workflowId, of.runId);
  const entries: TranscriptEntry[] = [];
  for (let from: number | null = first; from !== null;) {
    const page: TranscriptPage = await handle.query<TranscriptPage, [TranscriptQuery]>(QUERIES.transcript, {
      from,
    });
    entries.push(...page.entries);
    from = page.next;
  }
  return entries;
}

/**
 * The conversation before this turn in its session, from memory. If parts are missing there, it is read from the
 * session itself. It does not change while the turn runs. Empty if the turn does not belong to a session.
 */
export async function earlierWords(
  session: Omit<SessionRef, 'messageId'> | undefined,
  memory: Memory,
): Promise<TranscriptEntry[]> {
  if (session === undefined || session.count === 0) return [];
  const { sessionId, runId, count, digest, before } = session;
  const known = memory.transcript(sessionId, digest) ?? memory.transcript(afterTurn(sessionId), digest);
  if (known?.entries.length === count) {
    memory.remember(sessionId, known);
    return [...known.entries];
  }
  const older = before && memory.transcript(sessionId, before.digest);
  const isThere = older !== undefined && older.entries.length === before?.count;
  const start = isThere ? older.entries : [];
  const rest = await readPages({ workflowId: sessionId, runId }, start.length);
  const entries = [...start, ...rest];
  if (entries.length !== count)
    throw new Error(`session ${sessionId} has ${entries.length} entries, this turn goes on from ${count}`);
  memory.remember(sessionId, { replyId: digest, entries, bytes: bytesOf(entries) });
  return entries;
}

/**
 * Remembers what the session will hold if its turn ends with these entries, so that the next turn need not read it.
 * If the session holds other entries, its digest differs, and the next turn reads them.
 */
export function expectAfterTurn(
  { sessionId, digest }: Pick<SessionRef, 'sessionId' | 'digest'>,
  { earlier, turn }: Record<'earlier' | 'turn', readonly TranscriptEntry[]>,
  memory: Memory,
): void {
  const added = recordEntries(turn);
  const entries = [...earlier, ...added];
  memory.remember(afterTurn(sessionId), {
    replyId: digestAfter(digest, added),
    entries,
    bytes: bytesOf(entries),
  });
}

/**
 * The key of the expected memory. It is a separate key, because a wrong expectation must not replace the present
 * memory.
 */
function afterTurn(sessionId: string) {
  return `${sessionId} after its turn`;
}

/**
 * The record that a session keeps of a turn that ended without a result. The turn replays its history to make it. Null
 * if that history is deleted.
 */
export async function recall({ turn }: { turn: string }): Promise<TurnRecord | null> {
  try {
    return await Context.current().client.workflow.getHandle(turn).query<TurnRecord>(QUERIES.record);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** A conversation as this worker last saw it, up to and including one reply. */
interface Remembered extends Conversation {
  replyId: string;
}

/**
 * Texts that this worker has seen, so that nobody has to send them again. It is always safe to forget them, because
 * missing texts are read from the turn. The least recently used texts are forgotten first, once their bytes are over a
 * limit. Entries never change.
 */
export interface Memory {
  /** The conversation of a run, if it ends with this reply. */
  transcript(run: string, replyId: string): Remembered | undefined;
  remember(run: string, remembered: Remembered): void;
  /** The content of a result, by its digest. */
  content(digest: string): string | undefined;
  keepContent(digest: string, content: string): void;
}

/** Makes a memory of at most `maxBytes`. */
export function createMemory(maxBytes: number = WORKER_MEMORY_BYTES): Memory {
  const transcripts = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    sizeCalculation: (value) => Math.max(1, value.bytes),
  });
  const contents = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (text) => text.length * 2 + 1,
  });
  return {
    transcript(run, replyId) {
      const found = transcripts.get(run);
      return found?.replyId === replyId ? found : undefined;
    },
    remember: (run, remembered) => void transcripts.set(run, remembered),
    content: (digest) => contents.get(digest),
    keepContent: (digest, content) => void contents.set(digest, content),
  };
}

/** Bytes of entries, as the memory counts them. */
export function bytesOf(entries: readonly TranscriptEntry[]): number {
  return entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
}

/**
 * The sizes of entries, which are kept. Every step has the entries of all steps before it, so counting them anew would
 * cost more the longer a turn is.
 */
const sizes = new WeakMap<TranscriptEntry, number>();

function sizeOf(entry: TranscriptEntry) {
  const known = sizes.get(entry);
  if (known !== undefined) return known;
  const size = entryBytes(entry);
  sizes.set(entry, size);
  return size;
}

/** What a turn's model knew before the conversation, as its first reply recorded it. */
function contextIn(entries: readonly TranscriptEntry[]) {
  const first = entries.find((entry) => entry.kind === 'reply');
  return first?.kind === 'reply' ? first.context : undefined;
}
