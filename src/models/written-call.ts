import { isObject, parseJson } from '../contract/json';

/**
 * The tool that a text calls, if the text is a call that a model wrote and that its server should have turned into one.
 * Undefined for any other text. Each family of models writes calls in a form of its own, so all forms count in which
 * the text is a call and nothing else, or has the marks of one, and names one of the tools.
 */
export function writtenCall(text: string, tools: readonly string[]): string | undefined {
  const plain = withoutFence(text);
  if (plain === '' || tools.length === 0) return undefined;
  return inJson(plain, tools) ?? inMarks(plain, tools) ?? inElement(plain, tools) ?? inCode(plain, tools);
}

/** The text without a Markdown fence around all of it. */
function withoutFence(text: string) {
  const plain = text.trim();
  const [, inner] = /^```[^\n`]*\n([\s\S]*?)\n?```$/.exec(plain) ?? [];
  return (inner ?? plain).trim();
}

const NAMES = ['name', 'tool', 'tool_name', 'function', 'function_name', 'action', 'recipient_name'];
const ARGUMENTS = [
  'arguments',
  'parameters',
  'args',
  'input',
  'tool_input',
  'action_input',
  'params',
  'kwargs',
];
const INSIDE = ['function', 'function_call', 'tool_call', 'tool_calls', 'calls', 'tool_uses'];

/** A call as JSON: one object, a list, or one object a line. */
function inJson(text: string, tools: readonly string[]): string | undefined {
  const whole = parseJson(text);
  if (whole !== undefined) return inValue(whole, tools);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const values = lines.map(parseJson);
  return values.every(isObject) ? inValue(values, tools) : undefined;
}

function inValue(value: unknown, tools: readonly string[]): string | undefined {
  if (Array.isArray(value)) return value.length > 0 ? everyOne(value, tools) : undefined;
  if (!isObject(value)) return undefined;
  const inside = INSIDE.map((key) => value[key]).find((inner) => typeof inner === 'object' && inner !== null);
  if (inside !== undefined) return inValue(inside, tools);
  const named = NAMES.map((key) => toolIn(value[key], tools)).find((name) => name !== undefined);
  if (named !== undefined && ARGUMENTS.some((key) => key in value)) return named;
  const [only, ...others] = Object.entries(value);
  return only !== undefined && others.length === 0 && isObject(only[1]) ? toolIn(only[0], tools) : undefined;
}

function everyOne(list: readonly unknown[], tools: readonly string[]): string | undefined {
  const names = list.map((item) => inValue(item, tools));
  return names.every((name) => name !== undefined) ? names[0] : undefined;
}

/** The tool that a name means, with or without what some models put around it. */
export function toolIn(name: unknown, tools: readonly string[]): string | undefined {
  const meant = typeof name === 'string' && bare(name);
  return tools.find((tool) => tool === meant);
}

/** A name without what some models put around it, such as `functions.read_file:0`. */
function bare(name: string) {
  return name
    .trim()
    .replace(/^(?:functions?|tools?|default_api)[./:]/, '')
    .replace(/:\d+$/, '');
}

/** Marks with which models begin a call, at the beginning of a line. */
const MARKS: readonly RegExp[] = [
  /<[|｜]?[\w▁:｜|]*(?:tool|function|invoke|python_tag)[^\n]{0,80}/,
  /\[\/?(?:AVAILABLE_)?(?:TOOL|FUNCTION)_?(?:CALLS?|REQUEST|USE)\]/i,
  /functools\[/,
  /<\|channel\|?>\s*(?:commentary|analysis)[^\n]{0,40}to=/,
  /call:[\w.]+\{/,
  /Action:[^\n]+\n+Action Input:/,
].map((mark) => new RegExp(`^[ \\t]*${mark.source}`, `m${mark.flags}`));

function inMarks(text: string, tools: readonly string[]): string | undefined {
  const outside = withoutBlocks(text);
  const at = MARKS.map((mark) => outside.search(mark)).filter((index) => index >= 0);
  return at.length === 0 ? undefined : firstNamed(outside.slice(Math.min(...at)), tools);
}

/** The text without its blocks of code. What stands in them is shown, not called. */
function withoutBlocks(text: string) {
  return text.replace(/^[ \t]*```[\s\S]*?(?:^[ \t]*```|$(?![\s\S]))/gm, '');
}

function firstNamed(text: string, tools: readonly string[]): string | undefined {
  const found = tools
    .map((tool) => ({ tool, at: text.search(word(tool)) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at);
  return found[0]?.tool;
}

/** Matches a tool's name as a whole word. */
function word(tool: string) {
  return new RegExp(`(?<![\\w-])${tool.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')}(?![\\w-])`);
}

/** A call as an element that has the tool's name: `<read_file><path>a</path></read_file>`. */
function inElement(text: string, tools: readonly string[]): string | undefined {
  const [, name = ''] = /^<([\w.-]+)(?:\s[^>]*)?\/?>/.exec(text) ?? [];
  const isWhole = text.endsWith(`</${name}>`) || /^<[^>]*\/>$/.test(text);
  return isWhole ? toolIn(name, tools) : undefined;
}

/** A call as a line of code: `read_file(path="a")`, in a list or in `print`. */
function inCode(text: string, tools: readonly string[]): string | undefined {
  const call = text.replace(/^\[([\s\S]*)\]$/, '$1').replace(/^print\(([\s\S]*)\)$/, '$1');
  const [, name] = /^(?:await )?([\w.-]+)\s*\([\s\S]*\)\s*;?$/.exec(call.trim()) ?? [];
  return toolIn(name, tools);
}
