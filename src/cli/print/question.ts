import { fieldsOf, type QuestionField, WORDS_COUNT } from '../../contract/question';
import { expiry } from '../../contract/text/times';
import { shellWord } from '../../contract/text/shell-word';
import type { QuestionOpened } from '../../history/events';
import { escapeLines, escapeProse, escapeText } from '../../contract/text/escape';
import { wrapAll } from '../../contract/text/columns';
import { saysLines, storyFacts, type WaitingPlace } from './request';
import type { ScreenFormat } from './screen';
import { factLines, indented, section } from './table';

/** A question in full, its fields, and the commands that answer it. */
export function questionLines(asked: QuestionOpened, place: WaitingPlace): string[] {
  const { turn, screen, now, command } = place;
  const id = `${turn}/${asked.callId}`;
  const { style } = screen;
  const text = wrapAll(escapeLines(asked.question.text, style.mark, 'prose'), screen.width - 2);
  const fields = fieldsOf(asked.question);
  return [
    ...factLines(
      [
        ['question', { text: `${escapeText(id)}  ${escapeText(asked.tool)}`, paint: style.warn }],
        ...storyFacts(place),
        ['expires', expiry(asked.deadline, now)],
      ],
      screen,
    ),
    ...section('asks', text, screen),
    ...section(
      'fields',
      fields.flatMap((field) => fieldLines(field, screen)),
      screen,
    ),
    ...saysLines(place),
    ...wrapAll([style.quiet(WORDS_COUNT)], screen.width),
    ...(command ? answerLines(id, fields, (args) => `  ${style.link(command(args))}`, style.quiet) : []),
  ];
}

function answerLines(
  id: string,
  fields: readonly QuestionField[],
  type: (args: string) => string,
  quiet: (text: string) => string,
): string[] {
  const sets = fields.filter(({ required }) => required).map(({ name }) => `--set ${name}=…`);
  const given = sets.length > 0 ? sets : fields.slice(0, 1).map(({ name }) => `--set ${name}=…`);
  return [
    quiet('answer:'),
    type(`answer ${shellWord(id)}`),
    type(`answer ${[shellWord(id), ...given].join(' ')}`),
    type(`answer ${shellWord(id)} --decline --reason "…"`),
  ];
}

/** A field that may be filled in, in two or three lines. */
export function fieldLines(field: QuestionField, { style }: ScreenFormat): string[] {
  const { name, label, description, options = [] } = field;
  const head = label === name ? escapeText(name) : `${escapeText(name)} (${escapeText(label)})`;
  return [
    `${head}: ${style.quiet(fitText(field))}`,
    ...(description === undefined ? [] : indented([escapeProse(description)])),
    ...indented(options.map((option, index) => `${index + 1}  ${escapeText(option)}`)),
  ];
}

const KINDS: Readonly<Record<QuestionField['kind'], string>> = {
  text: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'yes or no',
  choice: 'one of',
};

/** The values that fit a field, in words. */
function fitText({ kind, format, required, default: given }: QuestionField) {
  const usual = given === undefined ? [] : [`default ${escapeText(JSON.stringify(given))}`];
  return [format ?? KINDS[kind], ...(required ? [] : ['may be left out']), ...usual].join(', ');
}
