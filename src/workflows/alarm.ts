import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';

/** One timer for the earliest deadline of a step, set anew only when that changes. */
export class Alarm {
  private at: number | null = null;
  private scope: CancellationScope | undefined;

  /** It rings as long as `shield` is not cancelled, whatever it was made in. */
  constructor(
    private readonly shield: CancellationScope,
    private readonly ring: () => void,
  ) {}

  /** Rings at workflow time `at` (ms); null: never. `what` is shown in Temporal's UI. */
  set(at: number | null, what: string): void {
    if (at === this.at) return;
    this.scope?.cancel();
    this.at = at;
    this.scope = at === null ? undefined : this.start(at, what);
  }

  private start(at: number, what: string): CancellationScope {
    const scope = new CancellationScope({ cancellable: true, parent: this.shield });
    scope
      .run(() => sleep(Math.max(1, at - Date.now()), { summary: what }))
      .then(() => this.rang())
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
    return scope;
  }

  /** A clock that was set back may make it ring early: the same time can then be set again. */
  private rang(): void {
    this.at = null;
    this.ring();
  }
}
