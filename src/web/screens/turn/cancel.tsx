import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TurnView } from '../../../history/view-types';
import { cancelTurn } from '../../api/http';
import { useDesk } from '../../state/desk';

/** Asks a turn to end, after a second look. */
export function CancelTurn({ view }: { view: TurnView }): JSX.Element {
  const { tell, fail } = useDesk();
  const [isAsked, setAsked] = useState(false);
  const cancel = async (): Promise<void> => {
    setAsked(false);
    const reply = await cancelTurn(view.turn, {});
    if (!reply.ok) return fail(reply.status, reply.error);
    tell({ text: 'The turn was asked to end. What runs is waited for.', tone: 'quiet' });
  };
  if (view.cancelRequested) return <span class="chip quiet">was asked to end</span>;
  if (!isAsked) {
    return (
      <button class="button plain" type="button" onClick={() => setAsked(true)}>
        Cancel the turn
      </button>
    );
  }
  return (
    <span class="confirm">
      Its requests are closed and nothing more starts.{' '}
      <button class="button danger" type="button" onClick={() => void cancel()}>
        Cancel it
      </button>{' '}
      <button class="button plain" type="button" onClick={() => setAsked(false)}>
        Keep it
      </button>
    </span>
  );
}
