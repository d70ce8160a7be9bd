import { ApplicationFailure, CancelledFailure, continueAsNew, workflowInfo } from '@temporalio/workflow';
import { FAILURES } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import type { CarriedTurn, TurnResult, TurnState } from '../contract/turn';
import type { agentTurn } from './agent-turn';
import { takeGiven } from './fork';
import { inWork, type Hands } from './hands';
import { hasRemote, keepSchemas, prepareRemote } from './prepare';
import { Step, stepKeyOf } from './step';
import { takeResults, takeThought, think } from './think';
import type { Turn } from './turn';

/** Decisions taken along when a turn continues as new; older ones can only meet calls that are gone. */
const CARRIED_DECISIONS = 200;

/** Step after step: until the model answers, or the limit is reached, or the turn goes on as a new run. */
export async function runSteps(turn: Turn, hands: Hands): Promise<TurnResult> {
  for (;;) {
    if (mustContinue(turn)) await continueTurn(turn);
    turn.step += 1;
    const output = takeGiven(turn) ?? takeThought(turn, await nextStep(turn, hands));
    if (output.calls.length === 0) return resultOf(turn, 'answered', output.text);
    turn.stepKey = stepKeyOf(turn, output);
    keepSchemas(turn, output);
    const calls = hasRemote(output) ? await prepareRemote(turn, output, hands) : output.calls;
    const step = new Step(turn, calls, hands);
    if (step.isPlain) while (step.goOn()) await step.change();
    else await finish(step);
    takeResults(turn, step.results());
    if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
    if (turn.step >= turn.maxSteps) return resultOf(turn, 'step_limit', output.text);
  }
}

/** The next step comes a little later than after a loop without a function around it: when a timer's end is on record. */
async function finish(step: Step): Promise<void> {
  while (step.goOn()) await step.change();
}

function nextStep(turn: Turn, hands: Hands): Promise<ThinkOutput> {
  if (turn.transcript.full) {
    throw ApplicationFailure.nonRetryable(
      'the transcript is over its limit even without old outputs',
      FAILURES.turn,
    );
  }
  return inWork(turn, hands, () => think(turn));
}

function resultOf(turn: Turn, status: Extract<TurnState, TurnResult['status']>, answer: string): TurnResult {
  return { status, answer, steps: turn.step, counts: turn.counts, usage: turn.usage };
}

/** Only between steps, with nothing open. A cancellation that came in between is not lost: it is checked first. */
function mustContinue({ step, approvals, given }: Turn): boolean {
  // A next run takes along what holds for the whole fork, never the step it begins with.
  return workflowInfo().continueAsNewSuggested && step > 0 && !approvals.cancelled && given === undefined;
}

function continueTurn(turn: Turn): Promise<never> {
  const { agent, fork } = turn;
  const carried = carry(turn);
  return continueAsNew<typeof agentTurn>({
    agent,
    prompt: '',
    carried,
    ...(fork === undefined ? {} : { fork }),
  });
}

function carry(turn: Turn): CarriedTurn {
  return {
    step: turn.step,
    transcript: [...turn.transcript.entries],
    droppedBefore: turn.transcript.droppedBefore,
    results: turn.results,
    spent: [...turn.approvals.verdicts].slice(-CARRIED_DECISIONS),
    counts: turn.counts,
    usage: turn.usage,
    signalVerdicts: turn.signalVerdicts,
  };
}
