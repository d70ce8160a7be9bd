import { describeOutcome, describeState } from '../../history/labels';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { TurnEvent } from '../../history/events';
import type { TurnView } from '../../history/view-types';
import { Chip, TurnLink } from '../ui/widgets';
import { Code, Text } from '../ui/text';
import { useAppContext } from '../ui/app';
import {
  type ComparedStep,
  compareFork,
  type Comparison,
  type PathCall,
  type PathEnd,
  type PathStep,
} from '../../history/compare';
import { titleOf } from '../../contract/text/call-title';
import { type Reply, send, turnPath } from '../http';
import type { TurnDetails } from '../../server/api';

interface TwoPathsProps {
  fork: NonNullable<TurnView['fork']>;
  events: readonly TurnEvent[];
}

/** The forked turn and the fork, side by side. */
export function TwoPaths({ fork, events }: TwoPathsProps) {
  const { of, from, world, changed, model } = fork;
  const { original, problem } = useOriginal(of);
  const comparison = useMemo(() => original && compareFork(original, events), [original, events]);
  const changes = [changed && `another ${changed}`, model && `the model ${model}`].filter(Boolean).join(', ');
  return (
    <section class="two-paths" aria-labelledby="paths-title">
      <h2 id="paths-title">
        Two paths from {from} on{' '}
        <Chip of={world === 'dry' ? ['dry: without effects', 'quiet'] : ['for real', 'ask']} />
      </h2>
      {changes !== '' && (
        <p class="quiet">
          with <Text of={changes} />
        </p>
      )}
      {problem !== undefined && (
        <p class="quiet">
          <Text of={problem} />
        </p>
      )}
      {comparison && (
        <>
          <div class="paths path-heads">
            <p>
              What happened, in <TurnLink of={of} />
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

/** Reads the events of the forked turn once, because the comparison does not need later events of that turn. */
function useOriginal(of: string): { original?: readonly TurnEvent[]; problem?: string } {
  const { fail } = useAppContext();
  const [state, setState] = useState<{ original?: readonly TurnEvent[]; problem?: string }>({});
  useEffect(() => {
    void readTurn(of).then((reply) => {
      if (reply.ok) return setState({ original: reply.data.events });
      if (reply.status === 401) return fail(reply);
      setState({ problem: `${of} cannot be compared with: ${reply.error.message}` });
    });
  }, [of, fail]);
  return state;
}

/** One step of both paths. The parts that are equal in both paths are shown once. */
function StepView({ step, left, right, same }: ComparedStep) {
  return (
    <section class="paths" aria-label={`Step ${step}`}>
      <h3>
        Step {step}
        {same && <span class="quiet">, the same in both</span>}
      </h3>
      {!same && <PathView side="What happened" of={left} />}
      <PathView side={same ? 'Both' : 'This fork'} of={same ? left : right} />
    </section>
  );
}

type Side = 'What happened' | 'This fork' | 'Both';

/** Labels a path when the two are not side by side. */
function Path({ side, children }: { side: Side; children: ComponentChildren }) {
  return (
    <div class={side === 'Both' ? 'path both' : 'path'}>
      {side !== 'Both' && <span class="side">{side}</span>}
      {children}
    </div>
  );
}

function PathView({ side, of }: { side: Side; of: PathStep | undefined }) {
  if (of === undefined) {
    return (
      <Path side={side}>
        <p class="quiet">It did not get this far.</p>
      </Path>
    );
  }
  const { text, model, calls } = of;
  return (
    <Path side={side}>
      {calls.length === 0 ? (
        <p class="quiet">
          <Text of={model} /> answers
        </p>
      ) : (
        text.trim() !== '' && (
          <p class="prose">
            <Text of={text.trim()} layout="block" kind="prose" />
          </p>
        )
      )}
      {calls.map((call) => (
        <CallView key={call.callId} {...call} />
      ))}
    </Path>
  );
}

function CallView({ tool, arguments: args, outcome, content }: PathCall) {
  return (
    <div class="path-call">
      <Code of={titleOf({ tool, arguments: args })} /> <Chip of={describeOutcome(outcome)} />
      {outcome === 'done' && content !== undefined && content !== '' && (
        <p class="code block quiet">
          <Text of={content} layout="block" />
        </p>
      )}
    </div>
  );
}

/** How both paths ended. */
function EndView({ left, right, same }: Comparison['end']) {
  return (
    <section class="paths" aria-label="The end">
      <h3>
        The end
        {same && <span class="quiet">, the same in both</span>}
      </h3>
      {!same && <End side="What happened" of={left} />}
      <End side={same ? 'Both' : 'This fork'} of={right} />
    </section>
  );
}

function End({ side, of }: { side: Side; of: PathEnd }) {
  return (
    <Path side={side}>
      <Chip of={describeState(of.status)} />
      <p class="prose">
        <Text of={of.answer ?? of.error ?? ''} layout="block" kind="prose" />
      </p>
    </Path>
  );
}

const readTurn = (turn: string): Promise<Reply<TurnDetails>> => send('GET', turnPath(turn));
