/** What the tools of one pack have in common; spread into each definition. */
export interface Pack {
  categories: readonly string[];
  /** The queue of the worker that has the files. */
  taskQueue?: string;
}
