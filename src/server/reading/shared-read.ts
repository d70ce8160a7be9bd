/** A read that takes long. Who asks for the same while it goes on shares it, and its answer is kept for `freshMs`. */
export class SharedRead<T> {
  // A time of `performance.now`, which does not change when somebody sets the time of day. Otherwise an answer could be
  // kept for too long.
  private until = Infinity;

  constructor(
    readonly answer: Promise<T>,
    freshMs: number,
  ) {
    answer.then(
      () => (this.until = performance.now() + freshMs),
      // After a failure the next one reads again.
      () => (this.until = 0),
    );
  }

  get isFresh(): boolean {
    return performance.now() < this.until;
  }
}
