/** A product's own page with the gate in it: once with the client of AG-UI, and once with `useChat` of the AI SDK. */
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { AgUiChat } from './ag-ui-chat.jsx';
import { SdkChat } from './sdk-chat.jsx';

/** The token is that of a user of the web inbox: `countersign web user ann --may-converse`. A product has its own sign-in. */
function SignIn({ onSignIn }) {
  const submit = (event) => {
    event.preventDefault();
    onSignIn(Object.fromEntries(new FormData(event.currentTarget)));
  };
  return (
    <form onSubmit={submit}>
      <label>
        Web inbox <input name="inbox" defaultValue="http://127.0.0.1:7243" required />
      </label>
      <label>
        Agent <input name="agent" defaultValue="desk" required />
      </label>
      <label>
        Token <input name="token" type="password" required />
      </label>
      <label>
        Client
        <select name="client">
          <option value="ag-ui">AG-UI</option>
          <option value="ai-sdk">useChat</option>
        </select>
      </label>
      <button>Open</button>
    </form>
  );
}

/** The conversation stays the same when the page is loaded again. */
function threadOf() {
  const known = sessionStorage.getItem('thread') ?? `shop-${crypto.randomUUID()}`;
  sessionStorage.setItem('thread', known);
  return known;
}

function Page() {
  const [settings, setSettings] = useState();
  if (settings === undefined) return <SignIn onSignIn={setSettings} />;
  const Chat = settings.client === 'ag-ui' ? AgUiChat : SdkChat;
  const queue = new URLSearchParams(location.search).get('taskQueue');
  const query = queue === null ? '' : `?taskQueue=${encodeURIComponent(queue)}`;
  return <Chat {...settings} thread={threadOf()} query={query} />;
}

createRoot(document.getElementById('page')).render(<Page />);
