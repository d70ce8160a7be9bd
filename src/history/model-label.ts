import type { ModelNote } from '../contract/think';
import type { StepView } from './view-types';

const NOTES: Readonly<Record<ModelNote, string>> = {
  fallback: 'a fallback',
  shortened: 'old outputs were left out, the conversation was too long for it',
  cut: 'its server seems to have read only a part of the conversation',
};

/** The model that wrote a reply, and what people should know about that. */
export function describeModel({ model, notes = [] }: Pick<StepView, 'model' | 'notes'>): string {
  return notes.length === 0 ? model : `${model} (${notes.map((note) => NOTES[note]).join('; ')})`;
}
