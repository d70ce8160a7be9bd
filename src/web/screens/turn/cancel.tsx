import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TurnView } from '../../../history/view-types';
import { cancelTurn } from '../../api/http';
import { useDesk } from '../../state/desk';

/** How a turn is ended. */
const WAYS = {
  cancel: {
    offer: 'Cancel the turn',
    means: 'Its requests are closed and nothing more starts. What runs is waited for.',
    does: 'Cancel it',
    told: 'The turn was asked to end.',
    body: {},
  },
  abandon: {
    offer: 'Give it up',
    means: 'It ends although a call is in doubt, which stays on record as unresolved.',
    does: 'Give it up',
    told: 'The turn is given up.',
    body: { abandon: true },
  },
} as const;

/** Asks a turn to end, after a second look; one that was asked already and is in doubt can be given up. */
export function CancelTurn({ view }: { view: TurnView }): JSX.Element {
  const { tell, fail } = useDesk();
  const [isAsked, setAsked] = useState(false);
  const way = WAYS[view.cancelRequested ? 'abandon' : 'cancel'];
  const act = async (): Promise<void> => {
    setAsked(false);
    const reply = await cancelTurn(view.turn, way.body);
    if (!reply.ok) return fail(reply.status, reply.error);
    tell({ text: way.told, tone: 'quiet' });
  };
  if (view.cancelRequested && view.inDoubt.length === 0)
    return <span class="chip quiet">was asked to end</span>;
  if (!isAsked) {
    return (
      <button class="button plain" type="button" onClick={() => setAsked(true)}>
        {way.offer}
      </button>
    );
  }
  return (
    <span class="confirm">
      {way.means}{' '}
      <button class="button danger" type="button" onClick={() => void act()}>
        {way.does}
      </button>{' '}
      <button class="button plain" type="button" onClick={() => setAsked(false)}>
        Keep it
      </button>
    </span>
  );
}
