import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { compareFork } from '../../../history/compare';
import type { TurnEvent } from '../../../history/events';
import type { TurnView } from '../../../history/view-types';
import { readTurn } from '../../api/http';
import { hrefOf } from '../../model/route';
import { Chip } from '../../parts/chip';
import { Text } from '../../parts/text';
import { useDesk } from '../../state/desk';
import { EndView, StepView } from './path';

interface TwoPathsProps {
  fork: NonNullable<TurnView['fork']>;
  events: readonly TurnEvent[];
}

/** What the turn did that this is a fork of, and what this one does, side by side. */
export function TwoPaths({ fork, events }: TwoPathsProps): JSX.Element {
  const { of, from, world, changed, model } = fork;
  const { original, problem } = useOriginal(of);
  const comparison = useMemo(
    () => (original === undefined ? undefined : compareFork(original, events)),
    [original, events],
  );
  const told = [changed && `another ${changed}`, model && `the model ${model}`].filter(Boolean).join(', ');
  return (
    <section class="two-paths" aria-labelledby="paths-title">
      <h2 id="paths-title">
        Two paths from {from} on{' '}
        <Chip tone={world === 'dry' ? 'quiet' : 'ask'}>
          {world === 'dry' ? 'dry: without effects' : 'for real'}
        </Chip>
      </h2>
      {told !== '' && (
        <p class="quiet">
          with <Text of={told} />
        </p>
      )}
      {problem !== undefined && (
        <p class="quiet">
          <Text of={problem} />
        </p>
      )}
      {comparison !== undefined && (
        <>
          <div class="paths path-heads">
            <p>
              What happened, in{' '}
              <a href={hrefOf({ at: 'turn', turn: of })}>
                <Text of={of} />
              </a>
            </p>
            <p>This fork</p>
          </div>
          {comparison.steps.map((step) => (
            <StepView key={step.step} {...step} />
          ))}
          <EndView {...comparison.end} />
        </>
      )}
    </section>
  );
}

/** The events of the turn that was forked, read once: what it does later is no part of the comparison. */
function useOriginal(of: string): { original?: readonly TurnEvent[]; problem?: string } {
  const { fail } = useDesk();
  const [state, setState] = useState<{ original?: readonly TurnEvent[]; problem?: string }>({});
  useEffect(() => {
    void readTurn(of).then((reply) => {
      if (reply.ok) return setState({ original: reply.data.events });
      if (reply.status === 401) return fail(reply.status, reply.error);
      setState({ problem: `${of} cannot be compared with: ${reply.error.message}` });
    });
  }, [of, fail]);
  return state;
}
