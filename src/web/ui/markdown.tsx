import { type Block, readMarkdown, type Span } from '../model/markdown';
import { Text } from './text';

/** Words of a model or a person, with bold words, lists and code, and without links or pictures. */
export function Markdown({ of }: { of: string }) {
  return (
    <div class="markdown">
      {readMarkdown(of).map((block, index) => (
        <BlockView key={index} {...block} />
      ))}
    </div>
  );
}

function BlockView(block: Block) {
  if (block.kind === 'code')
    return (
      <pre class="code">
        <Text of={block.text} layout="block" />
      </pre>
    );
  if (block.kind === 'text')
    return (
      <p>
        <Spans of={block.spans} />
      </p>
    );
  return (
    <ul>
      {block.items.map((item, index) => (
        <li key={index}>
          <Spans of={item} />
        </li>
      ))}
    </ul>
  );
}

function Spans({ of }: { of: readonly Span[] }) {
  return (
    <>
      {of.map(({ look, text }, index) => {
        if (look === 'code')
          return (
            <code key={index}>
              <Text of={text} />
            </code>
          );
        const words = <Text of={text} layout="block" kind="prose" />;
        return look === 'bold' ? <strong key={index}>{words}</strong> : <span key={index}>{words}</span>;
      })}
    </>
  );
}
