import { useState } from 'react';

/** Where a person writes to the agent. */
export function Composer({ onSend, isBusy }) {
  const [text, setText] = useState('');
  const submit = (event) => {
    event.preventDefault();
    onSend(text);
    setText('');
  };
  return (
    <form onSubmit={submit}>
      <label>
        Message <input value={text} onChange={(event) => setText(event.target.value)} required />
      </label>
      <button disabled={isBusy}>Send</button>
    </form>
  );
}
