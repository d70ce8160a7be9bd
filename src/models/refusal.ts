import { z } from 'zod';

const refusalSchema = z.object({ refusal: z.string() });
const bodySchema = z.object({
  choices: z.array(
    z.union([z.object({ message: refusalSchema }), z.object({ delta: refusalSchema }), z.unknown()]),
  ),
});

const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });
const contentSchema = z.object({ content: z.array(z.union([refusalPart, z.unknown()])) });
/** The forms of the Responses API: a body, and below it the event that ends a refusal. */
const responseSchema = z.object({ output: z.array(z.union([contentSchema, z.unknown()])) });
const refusedSchema = z.object({ type: z.literal('response.refusal.done'), refusal: z.string() });

/** The words of a model that refuses. The provider packages do not read them. Empty if the model does not refuse. */
export function refusalOf(body: unknown): string {
  const choice = bodySchema.safeParse(body).data?.choices[0];
  const message = z.object({ message: refusalSchema }).safeParse(choice).data?.message;
  const delta = z.object({ delta: refusalSchema }).safeParse(choice).data?.delta;
  const output = responseSchema.safeParse(body).data?.output ?? [];
  const parts = output.flatMap((item) => contentSchema.safeParse(item).data?.content ?? []);
  const words = parts.map((part) => refusalPart.safeParse(part).data?.refusal ?? '').join('');
  const ended = refusedSchema.safeParse(body).data?.refusal;
  return message?.refusal ?? delta?.refusal ?? ended ?? words;
}
