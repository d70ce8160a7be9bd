import { HttpAgent } from '@ag-ui/client';
import { useEffect, useState } from 'react';
import { Composer } from './composer.jsx';

/** What a call would do. The digest of exactly this goes back with the decision. */
function Request({ interrupt, isBusy, onDecide }) {
  const {
    seenDigest,
    arguments: args,
    preview,
    mayDecide,
    voting,
    notHere,
    link,
  } = interrupt.metadata.countersign;
  const [edited, setEdited] = useState(JSON.stringify(args, null, 2));
  const [reason, setReason] = useState('');
  const decide = (decision, more) =>
    onDecide({ interruptId: interrupt.id, status: 'resolved', payload: { decision, seenDigest, ...more } });
  return (
    <section className="request" aria-label={interrupt.message}>
      <strong>{interrupt.message}</strong>
      {preview && <pre>{preview.text}</pre>}
      <label>
        Arguments <textarea value={edited} onChange={(event) => setEdited(event.target.value)} />
      </label>
      <label>
        Reason <input value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
      {voting && <p>{voting}</p>}
      {notHere && <p role="alert">{notHere}</p>}
      <p>
        <button disabled={isBusy || !mayDecide} onClick={() => decide('approved', { reason })}>
          Approve
        </button>
        <button
          disabled={isBusy || !mayDecide}
          onClick={() => decide('modified', { reason, arguments: JSON.parse(edited) })}
        >
          Approve with changes
        </button>
        <button disabled={isBusy || !mayDecide} onClick={() => decide('denied', { reason })}>
          Deny
        </button>
        <a href={link}>In the web inbox</a>
      </p>
    </section>
  );
}

export function AgUiChat({ inbox, agent: name, token, thread, query }) {
  const [agent] = useState(
    () =>
      new HttpAgent({
        url: `${inbox}/ag-ui/${encodeURIComponent(name)}${query}`,
        headers: { authorization: `Bearer ${token}` },
        threadId: thread,
      }),
  );
  const [shown, setShown] = useState({ messages: [], interrupts: [] });
  const [isBusy, setBusy] = useState(false);
  const [notice, setNotice] = useState('');
  const look = async (resume) => {
    setBusy(true);
    setNotice('');
    const show = () => setShown({ messages: [...agent.messages], interrupts: [...agent.pendingInterrupts] });
    // A refused answer leaves its request open, and says why.
    const onCustomEvent = ({ event: { name: event, value } }) => {
      if (event === 'countersign.answer' && value.status === 'refused') setNotice(value.message);
    };
    try {
      await agent.runAgent({ resume }, { onMessagesChanged: show, onCustomEvent });
    } catch (error) {
      setNotice(error.message);
    }
    show();
    setBusy(false);
  };
  // What was not answered may be answered by somebody else: that is no denial.
  const notByMe = () => agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' }));
  const decide = (entry) =>
    look(notByMe().map((other) => (other.interruptId === entry.interruptId ? entry : other)));
  const send = (content) => {
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
    return look(notByMe());
  };
  useEffect(() => {
    // A conversation that exists is shown as it stands.
    if (sessionStorage.getItem('begun') === thread) void look([]);
    sessionStorage.setItem('begun', thread);
  }, []);
  return (
    <>
      {shown.messages.map((message) => (
        <p key={message.id} className={message.role}>
          {message.content}
        </p>
      ))}
      {shown.interrupts
        .filter(({ reason }) => reason === 'tool_call')
        .map((interrupt) => (
          <Request
            key={`${interrupt.id} ${interrupt.metadata.countersign.seenDigest}`}
            interrupt={interrupt}
            isBusy={isBusy}
            onDecide={decide}
          />
        ))}
      {notice && <p role="alert">{notice}</p>}
      <Composer onSend={send} isBusy={isBusy} />
    </>
  );
}
