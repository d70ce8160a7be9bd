import { z } from 'zod';

/** A zod schema of the values that a guard accepts. Its type is the guard's, so nobody can claim more than is checked. */
export function guarded<T>(is: (value: unknown) => value is T, message: string): z.ZodType<T, T> {
  return z.custom<T>(is, message);
}
