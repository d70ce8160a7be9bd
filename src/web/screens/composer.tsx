import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { MessageMode } from '../../contract/turn-states';
import type { SentMessage } from '../../server/api';
import { newDecisionId, sendMessage } from '../http';
import { EMPTY_MESSAGE, type MessageDraft, messageName, textProblem } from '../model/conversation';
import { errorText } from '../model/labels';
import { parametersOf } from '../model/route';
import { useAppContext, useKept } from '../ui/app';
import { Text } from '../ui/text';
import { Key, Select } from '../ui/widgets';
import { AttachButton, Attached, useFiles } from './composer-files';

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
export function Composer(props: ComposerProps): JSX.Element | null {
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
  const submit = (event: Event): void => {
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
          <button class="button primary" type="submit" aria-disabled={isSending}>
            {isSending ? 'Sending …' : 'Send'} <Key of="Ctrl+Enter" />
          </button>
        )}
        <span class="problem" id="say-problem" role="alert">
          {problem !== undefined && <Text of={problem} />}
        </span>
      </div>
    </form>
  );
}

function Way({ value, choose }: { value: MessageMode; choose: (mode: MessageMode) => void }): JSX.Element {
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
  const send = async (coming: number): Promise<void> => {
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
  const type = (part: Partial<MessageDraft>): void => {
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
