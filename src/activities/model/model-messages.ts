import { KIB, MIB } from '../../contract/limits';
import type { FileRef } from '../../contract/session/files';
import { describeFile } from '../../contract/text/bytes';
import { cutContent, type TranscriptCall, type TranscriptEntry } from '../../contract/transcript';
import type { Model, ModelCall, ModelFile, ModelMessage } from '../../models/model';
import type { FileStore } from '../../store/stored-file';
import { fitsType } from '../../store/media-types';

/**
 * The most bytes of all files in one request to a model; the newest are kept. Providers take some 30 MB, and base64
 * adds a third.
 */
const FILES_PER_REQUEST_BYTES = 16 * MIB;

/** The most bytes of one text file that a model reads. The beginning and the end are kept. */
const FILE_TEXT_BYTES = 64 * KIB;

/** The model that reads the files of a conversation, and the store that holds their bytes. */
interface FileReader {
  model: Pick<Model, 'takes'>;
  /** Undefined: this worker has no file store. */
  store: FileStore | undefined;
}

/**
 * A conversation as a model reads it, with the bytes of the files that the model takes. In place of any other file the
 * model reads a text. If all files together are too large, the newest files get the room first.
 */
export async function toMessages(
  entries: readonly TranscriptEntry[],
  reader: FileReader,
): Promise<ModelMessage[]> {
  const messages: ModelMessage[] = [];
  const room = { bytes: FILES_PER_REQUEST_BYTES };
  for (const entry of entries.toReversed())
    messages.push(entry.kind === 'words' ? await wordsMessage(entry, reader, room) : messageOf(entry));
  return messages.reverse();
}

function messageOf(entry: Exclude<TranscriptEntry, { kind: 'words' }>): ModelMessage {
  if (entry.kind === 'reply') {
    const { text, calls, opaque } = entry;
    const message: ModelMessage = { role: 'assistant', content: text, toolCalls: calls.map(toModelCall) };
    return opaque === undefined ? message : { ...message, opaque };
  }
  return { role: 'tool', toolCallId: entry.id, toolName: entry.tool, content: entry.content };
}

function toModelCall(call: TranscriptCall): ModelCall {
  return { id: call.id, name: call.tool, arguments: call.raw ?? argumentsText(call) };
}

/**
 * The texts of calls, which are kept. Entries never change, and each step of a turn asks with all entries before it.
 */
const texts = new WeakMap<TranscriptCall, string>();

function argumentsText(call: TranscriptCall) {
  const known = texts.get(call);
  if (known !== undefined) return known;
  const text = JSON.stringify(call.arguments);
  texts.set(call, text);
  return text;
}

/** A file as the model gets it: in words and, if the model takes such files, with its bytes. */
interface GivenFile {
  words: string;
  file?: ModelFile;
}

async function wordsMessage(
  { text, files = [] }: Extract<TranscriptEntry, { kind: 'words' }>,
  reader: FileReader,
  room: { bytes: number },
): Promise<ModelMessage> {
  if (files.length === 0) return { role: 'user', content: text };
  const given: GivenFile[] = [];
  for (const ref of files) given.push(await give(ref, reader, room));
  const content = [text, ...given.map(({ words }) => words)].join('\n\n');
  const attached = given.flatMap(({ file }) => file ?? []);
  return { role: 'user', content, files: attached.length === 0 ? undefined : attached };
}

async function give(ref: FileRef, { model, store }: FileReader, room: { bytes: number }): Promise<GivenFile> {
  const { name, mediaType, size } = ref;
  const unread = (why: string): GivenFile => ({
    words: `[File that you cannot read: ${describeFile(ref)}: ${why}]`,
  });
  const isTaken = (model.takes ?? []).some((type) =>
    type.endsWith('/*') ? mediaType.startsWith(type.slice(0, -1)) : mediaType === type,
  );
  if (!isTaken && !isText(mediaType)) return unread('this model takes no files of this type');
  if (size > room.bytes) return unread('it is one of too many files; whoever sent it may send it again');
  if (store === undefined) return unread('this worker has no store of files');
  const stored = await store.get(ref);
  if ('lack' in stored) return unread(stored.lack);
  const { bytes } = stored;
  if (!isTaken) return { words: textOf(ref, bytes) };
  if (!fitsType(bytes, mediaType)) return unread('it is not what its type says');
  room.bytes -= bytes.byteLength;
  return { words: `[File: ${describeFile(ref)}]`, file: { name, mediaType, bytes } };
}

function textOf(ref: FileRef, bytes: Uint8Array) {
  const text = cutContent(new TextDecoder().decode(bytes), FILE_TEXT_BYTES);
  return `[File: ${describeFile(ref)}. Its text:]\n${text}\n[End of ${ref.name}]`;
}

/** Whether a model reads files of a media type as text. */
function isText(mediaType: string) {
  const named = ['application/json', 'application/xml', 'application/yaml', 'image/svg+xml'];
  return mediaType.startsWith('text/') || named.includes(mediaType) || /\+(json|xml)$/.test(mediaType);
}
