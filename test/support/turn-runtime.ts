import { CancellationScope } from '@temporalio/workflow';
import { ChangeNotifier } from '../../src/workflows/changes';
import { DeadlineTimer } from '../../src/workflows/deadline-timer';
import { MessageQueue } from '../../src/workflows/message-queue';
import { StepObserver } from '../../src/workflows/observe';
import { Publisher } from '../../src/workflows/publish';
import type { Turn, TurnRuntime } from '../../src/workflows/turn-state';

/** What a turn gives its steps, in a workflow that is nothing but a step. */
export function runtimeOf(turn: Turn): TurnRuntime {
  const nonCancellable = CancellationScope.current();
  const observer = new StepObserver(turn);
  const publisher = new Publisher(turn, () => '');
  const timer = new DeadlineTimer(turn, nonCancellable);
  const queue = new MessageQueue();
  const changes = new ChangeNotifier(turn, [observer, timer, publisher], queue);
  void CancellationScope.nonCancellable(() => changes.run());
  return { publisher, observer, changes, nonCancellable, queue };
}
