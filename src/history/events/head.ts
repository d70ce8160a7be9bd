/** What every turn event has. */
export interface EventHead {
  /** The history event it was made from, in its run; several turn events can share one. */
  eventId: number;
  /** When the server recorded that; ISO 8601. */
  at: string;
}
