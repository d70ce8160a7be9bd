import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useMemo } from 'react';
import { Composer } from './composer.jsx';

/** A call, and the yes or no that it waits for. Who wants to change it does so in the web inbox. */
function Call({ part, onAnswer }) {
  const { toolName, input, state, output, errorText, approval } = part;
  const isAsked = state === 'approval-requested';
  const { preview, link, notHere } = approval?.descriptor ?? {};
  return (
    <section className="request" aria-label={toolName}>
      <strong>{toolName}</strong>
      <pre>{preview?.text ?? JSON.stringify(input, null, 2)}</pre>
      <p>{output ?? errorText ?? state}</p>
      {notHere && <p role="alert">{notHere}</p>}
      {isAsked && (
        <p>
          <button onClick={() => onAnswer({ id: approval.id, approved: true })}>Approve</button>
          <button onClick={() => onAnswer({ id: approval.id, approved: false, reason: 'not this one' })}>
            Deny
          </button>
          <a href={link}>Change it in the web inbox</a>
        </p>
      )}
    </section>
  );
}

export function SdkChat({ inbox, agent, token, thread, query }) {
  const transport = useMemo(
    () =>
      new DefaultChatTransport({
        api: `${inbox}/api/chat/${encodeURIComponent(agent)}${query}`,
        headers: { authorization: `Bearer ${token}` },
        // A query stands between the address and what the client adds to it.
        prepareReconnectToStreamRequest: ({ id }) => ({
          api: `${inbox}/api/chat/${encodeURIComponent(agent)}/${encodeURIComponent(id)}/stream`,
        }),
      }),
    [],
  );
  const isBegun = sessionStorage.getItem('begun') === thread;
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    ...{ id: thread, transport, resume: isBegun },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const send = (text) => {
    sessionStorage.setItem('begun', thread);
    return sendMessage({ text });
  };
  return (
    <>
      {messages.map((message) => (
        <div key={message.id} className={message.role}>
          {message.parts.map((part, at) => {
            if (part.type === 'text') return <p key={at}>{part.text}</p>;
            if (part.type === 'data-countersign-answer' && part.data.status === 'refused')
              return (
                <p key={at} role="alert">
                  {part.data.message}
                </p>
              );
            return part.type === 'dynamic-tool' ? (
              <Call key={part.toolCallId} part={part} onAnswer={addToolApprovalResponse} />
            ) : undefined;
          })}
        </div>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <Composer onSend={send} isBusy={status === 'submitted' || status === 'streaming'} />
    </>
  );
}
