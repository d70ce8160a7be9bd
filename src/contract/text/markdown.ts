const SIGNS = /[\\`*[\]<]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/**
 * A text of a model, a tool or a user for Temporal's own UI, which renders Markdown: on one line, and never as a link
 * with other words, a picture or HTML.
 */
export function plainMarkdown(text: string): string {
  return text.replace(/\s+/g, ' ').replace(SIGNS, '\\$&');
}
