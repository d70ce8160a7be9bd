import { useState, useEffect, useRef } from 'preact/hooks';
import type { MessageMode } from '../../contract/turn-states';
import type { SentMessage, SentFile, MessageBody } from '../../server/api';
import { newDecisionId, type Reply, shownUser, send, conversationPath } from '../http';
import { type MessageDraft, messageName, textProblem } from '../model/conversation';
import { errorText } from '../model/labels';
import { parametersOf } from '../model/route';
import { useAppContext, useKept } from '../ui/app';
import { Text, visibleText } from '../ui/text';
import { Button, Key, Select } from '../ui/widgets';
import { LIMITS } from '../../contract/limits';
import { describeFile, sizeText } from '../../contract/text/bytes';

const WAYS: readonly (readonly [MessageMode, string])[] = [
  ['queue', 'after this turn'],
  ['steer', 'into this turn'],
  ['interrupt', 'stop this turn first'],
];

interface ComposerProps {
  session: string;
  /** The agent and the task queue of a conversation that the first message starts, as in the address. */
  start: string;
  /** Whether a turn runs, so that a message can go into it. */
  isRunning: boolean;
  /** Whether the conversation takes no more messages. The text that was typed for the conversation is still shown. */
  isOver: boolean;
  sent: () => void;
}

/** The field in which a person writes. The typed text and the attached files stay in the tab until they are sent. */
export function Composer(props: ComposerProps) {
  const { value, change, keep, problem, setProblem, isSending, send } = useMessage(props);
  const { isOver } = props;
  const takesFiles = useAppContext().session.takesFiles && !isOver;
  const files = useFiles({
    files: value.files,
    setProblem,
    isOn: takesFiles,
    isSending,
    // A file that has arrived must not remove the message about other files that could not be attached.
    change: (next) => keep({ files: next, messageId: '' }),
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void send(files.coming.length);
  };
  if (isOver && value.text === '') return null;
  return (
    <form class="composer" onSubmit={submit}>
      <textarea
        id="say"
        rows={3}
        dir="auto"
        placeholder="Write a message"
        aria-label={isOver ? 'Message that was not sent' : 'Message'}
        aria-keyshortcuts="Control+Enter"
        aria-describedby="say-problem"
        aria-invalid={problem !== undefined}
        value={value.text}
        readOnly={isSending || isOver}
        onInput={({ currentTarget }) => change({ text: currentTarget.value, messageId: '' })}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
        }}
        onPaste={files.paste}
      />
      {!isOver && <Attached of={files} />}
      <div class="buttons">
        {props.isRunning && !isOver && <Way value={value.mode} choose={(mode) => change({ mode })} />}
        {takesFiles && <AttachButton of={files} isSending={isSending} />}
        {!isOver && (
          <Button look="primary" type="submit" aria-disabled={isSending}>
            {isSending ? 'Sending …' : 'Send'} <Key of="Ctrl+Enter" />
          </Button>
        )}
        <span class="problem" id="say-problem" role="alert">
          {problem !== undefined && <Text of={problem} />}
        </span>
      </div>
    </form>
  );
}

function Way({ value, choose }: { value: MessageMode; choose: (mode: MessageMode) => void }) {
  return (
    <Select
      id="mode"
      label="When the agent reads it"
      value={value}
      options={WAYS}
      choose={(mode) => choose(WAYS.find(([key]) => key === mode)?.[0] ?? 'queue')}
    />
  );
}

/** The typed message, and the function that sends it. */
function useMessage({ session, start, isRunning, sent }: ComposerProps) {
  const { notify, fail } = useAppContext();
  const { value, change, forget } = useKept(messageName(session), EMPTY_MESSAGE);
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const send = async (coming: number) => {
    const why = coming > 0 ? 'A file is still on its way.' : textProblem(value.text);
    setProblem(why);
    if (why !== undefined || isSending) return;
    // Sending the same text again repeats the same message.
    const messageId = value.messageId || newDecisionId();
    change({ messageId });
    setSending(true);
    const { agent, queue } = parametersOf(start, ['agent', 'queue']);
    const options = { agent: agent || undefined, taskQueue: queue || undefined };
    const mode = isRunning ? value.mode : 'queue';
    const { text, files } = value;
    const reply = await sendMessage(session, { text, files, messageId, mode, ...options });
    setSending(false);
    if (!reply.ok && reply.status === 401) return fail(reply);
    if (!reply.ok) return setProblem(errorText(reply.error));
    forget();
    const notice = noticeOf(reply.data);
    if (notice !== undefined) notify({ text: notice, tone: 'quiet' });
    sent();
  };
  const type = (part: Partial<MessageDraft>) => {
    setProblem(undefined);
    change(part);
  };
  return { value, change: type, keep: change, problem, setProblem, isSending, send };
}

/**
 * The notice after a message was sent, if the conversation on the screen does not show what happened to the message.
 */
function noticeOf(sent: SentMessage): string | undefined {
  if (sent.status === 'recorded')
    return 'No worker answers. The message is on record and counts when one runs.';
  return {
    started: undefined,
    queued: 'Sent. It waits for the turns before it.',
    steering: 'Sent. The turn reads it before its next step.',
    interrupting: 'Sent. The turn is stopped for it.',
  }[sent.outcome];
}

/** A file on its way to the store. */
interface Coming {
  key: number;
  file: File;
  /** The share of the file that has arrived, from 0 to 1. */
  share: number;
  stop: () => void;
}

interface FilesOfDraft {
  /** The files that have arrived. */
  files: readonly SentFile[];
  change: (files: readonly SentFile[]) => void;
  setProblem: (problem: string | undefined) => void;
  /** Whether there is a file store. */
  isOn: boolean;
  /** Whether the message is being sent, so that it must not change. */
  isSending: boolean;
}

/** The files of a message, for the composer. */
type ComposerFiles = ReturnType<typeof useFiles>;

/** Attaches files to a message: files that the person chooses, pastes, or drops anywhere on the screen. */
function useFiles(draft: FilesOfDraft) {
  const [news, setNews] = useState('');
  const now = useRef(draft);
  now.current = { ...draft };
  const keep = (files: readonly SentFile[], said: string) => {
    now.current.change((now.current.files = files));
    setNews(said);
  };
  const take = (sent: SentFile) => {
    const { name, digest } = sent.file;
    const { files } = now.current;
    const isThere = files.some(({ file }) => file.name === name && file.digest === digest);
    keep(isThere ? files : [...files, sent], `${name} is attached${isThere ? ' already' : ''}`);
  };
  const { coming, send } = useComing({ take, refuse: (why) => now.current.setProblem(why) });
  const add = (given: readonly File[]) => {
    if (!now.current.isOn || now.current.isSending) return;
    const { fitting, problem } = whatFits(given, now.current.files.length + coming.length);
    now.current.setProblem(problem);
    fitting.forEach(send);
  };
  const isOver = useDrop(draft.isOn, add);
  return {
    files: draft.files,
    coming,
    news,
    isOver,
    add,
    remove: (gone: SentFile) => {
      if (draft.isSending) return;
      draft.setProblem(undefined);
      const left = now.current.files.filter((one) => one !== gone);
      keep(left, `${gone.file.name} is removed`);
    },
    paste: (event: ClipboardEvent) => {
      const { files, types } = event.clipboardData ?? {};
      // A copied table is on the clipboard as text and as a picture, and the person means the text.
      if (files === undefined || files.length === 0 || types?.includes('text/plain')) return;
      event.preventDefault();
      add([...files]);
    },
  };
}

interface Takers {
  take: (sent: SentFile) => void;
  /** Called with the reason, in words, why a file is not attached. */
  refuse: (why: string) => void;
}

/** Counts the keys of files on their way, in all composers. */
let drawn = 0;

/** Sends files one after the other, so that they do not share a slow line. */
function useComing(takers: Takers) {
  const { fail } = useAppContext();
  const [coming, setComing] = useState<readonly Coming[]>([]);
  const now = useRef({ coming, takers });
  now.current = { coming, takers };
  const last = useRef<Promise<void>>(Promise.resolve());
  const change = (next: (all: readonly Coming[]) => readonly Coming[]) =>
    setComing((now.current.coming = next(now.current.coming)));
  const without = (key: number) => change((all) => all.filter((one) => one.key !== key));
  const sendOne = async (key: number, file: File, signal: AbortSignal) => {
    if (signal.aborted) return;
    const show = (share: number) =>
      change((all) => all.map((one) => (one.key === key ? { ...one, share } : one)));
    const reply = await sendFile(file, { show, signal });
    without(key);
    if (signal.aborted) return;
    if (reply.ok) now.current.takers.take(reply.data);
    else if (reply.status === 401) fail(reply);
    else now.current.takers.refuse(`${file.name} is not attached. ${errorText(reply.error)}`);
  };
  const send = (file: File) => {
    const key = (drawn += 1);
    const stopped = new AbortController();
    const stop = () => {
      stopped.abort();
      without(key);
    };
    change((all) => [...all, { key, file, share: 0, stop }]);
    last.current = last.current.then(() => sendOne(key, file, stopped.signal));
  };
  useEffect(() => () => now.current.coming.forEach(({ stop }) => stop()), []);
  return { coming, send };
}

/** The files that still fit into a message with `before` files. If not all of them fit, also the reason in words. */
function whatFits(given: readonly File[], before: number): { fitting: File[]; problem: string | undefined } {
  const large = given.filter(({ size }) => size > LIMITS.fileBytes);
  const empty = given.filter(({ size }) => size === 0);
  const good = given.filter(({ size }) => size > 0 && size <= LIMITS.fileBytes);
  const fitting = good.slice(0, Math.max(0, LIMITS.filesPerMessage - before));
  const problems = [
    ...large.map(({ name }) => `${name} is over ${sizeText(LIMITS.fileBytes)}.`),
    ...empty.map(({ name }) => `${name} is empty, or a folder.`),
    ...(fitting.length < good.length ? [`A message has at most ${LIMITS.filesPerMessage} files.`] : []),
  ];
  return { fitting, problem: problems.length === 0 ? undefined : problems.join(' ') };
}

/**
 * Takes files that are dropped anywhere. Outside the composer, the browser would otherwise open them in place of the
 * page.
 */
function useDrop(isOn: boolean, add: (files: readonly File[]) => void) {
  const [isOver, setOver] = useState(false);
  const current = useRef(add);
  current.current = add;
  useEffect(() => {
    if (!isOn) return;
    const over = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      setOver(true);
    };
    // The pointer is over no other element, so it has left the window.
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      setOver(false);
      current.current([...event.dataTransfer.files]);
    };
    addEventListener('dragover', over);
    addEventListener('dragleave', leave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', drop);
    };
  }, [isOn]);
  return isOver;
}

/** Sends a file to the store. It does not use `fetch`, which does not report progress. */
function sendFile(
  file: File,
  { show, signal }: { show: (share: number) => void; signal: AbortSignal },
): Promise<Reply<SentFile>> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const refuse = () => resolve({ ok: false, status: request.status, error: LOST });
    request.open('POST', 'api/files');
    request.responseType = 'json';
    request.setRequestHeader('content-type', 'application/octet-stream');
    for (const [name, value] of Object.entries(shownUser())) request.setRequestHeader(name, value);
    // A half surrogate pair cannot be encoded.
    request.setRequestHeader('file-name', encodeURIComponent(file.name.replace(/\p{Cs}/gu, '_')));
    request.upload.onprogress = ({ loaded, total }) => show(loaded / total);
    request.onload = () => {
      const { status, response } = request;
      if (response === null) refuse();
      else resolve(status === 201 ? { ok: true, data: response } : { ok: false, status, error: response });
    };
    request.onerror = request.onabort = refuse;
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

const LOST = {
  code: 'no_answer',
  message: 'Either the web inbox does not answer, or the file cannot be read.',
} as const;

/** The files of the message, and the files on their way. */
function Attached({ of: { files, coming, news, isOver, remove } }: { of: ComposerFiles }) {
  return (
    <>
      {files.length + coming.length > 0 && (
        <ul class="attached" aria-label="Attached files">
          {files.map((one) => (
            <li key={one.proof}>
              <Text of={describeFile(one.file)} />
              <Drop label={`Remove ${one.file.name}`} act={() => remove(one)} />
            </li>
          ))}
          {coming.map(({ key, file, share, stop }) => (
            <li key={key}>
              <Text of={file.name} />
              <progress aria-label={visibleText(`Sending ${file.name}`)} value={share} />
              <Drop label={`Stop sending ${file.name}`} act={stop} />
            </li>
          ))}
        </ul>
      )}
      {isOver && <p class="quiet">Drop the files to attach them.</p>}
      <span class="sr-only" role="status">
        <Text of={news} />
      </span>
    </>
  );
}

function Drop({ label, act }: { label: string; act: () => void }) {
  const press = () => {
    act();
    document.getElementById('attach')?.focus();
  };
  return (
    <Button look="plain" aria-label={visibleText(label)} onClick={press}>
      ✕
    </Button>
  );
}

interface AttachProps {
  of: ComposerFiles;
  isSending: boolean;
}

/** Opens the browser's own choice of files. */
function AttachButton({ of: { add }, isSending }: AttachProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          add([...(currentTarget.files ?? [])]);
          // We clear the value, so that choosing the same file again is a change, too.
          currentTarget.value = '';
        }}
      />
      <Button
        id="attach"

        aria-disabled={isSending}
        onClick={() => input.current?.click()}
      >
        Attach files
      </Button>
    </>
  );
}

const sendMessage = (session: string, body: MessageBody): Promise<Reply<SentMessage>> =>
  send('POST', `${conversationPath(session)}/messages`, { body });

const EMPTY_MESSAGE: MessageDraft = {
  text: '',
  files: [],
  mode: 'queue',
  messageId: '',
};
