import { chmodSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/contract/json';
import { runJob } from '../../../src/tools/executor';
import type { RunOutcome } from '../../../src/tools/outcome';
import type { FolderAccess } from '../../../src/tools/workspace/held-folder';
import { createMoveTools } from '../../../src/tools/workspace/move-tools';
import { createRoot, type Root } from '../../../src/tools/workspace/root';
import { HOLDINGS, makeBox, openWorkspace, takeInHand } from './support';

describe('move_file', () => {
  const args = { from: 'a.txt', to: 'b/c.txt' };
  it('moves to a name that is free, with its permissions', async () => {
    const { box, hands } = openWorkspace({ 'a.txt': 'a\n' });
    chmodSync(`${box.root}/a.txt`, 0o700);
    const { text, plan } = await hands.preview('move_file', args);
    expect(text).toMatch(/^Move a\.txt \(2 bytes, SHA-256 [0-9a-f]{64}\)\nto b\/c\.txt$/);
    expect(plan).toMatchObject({ path: 'a.txt', targetHash: '', hunks: [] });
    expect(await hands.run('move_file', args)).toBe('Moved a.txt to b/c.txt.');
    expect([readdirSync(box.root), box.text('b/c.txt')]).toEqual([['b'], 'a\n']);
  });

  it.each([
    ['a name that is taken', { from: 'a.txt', to: 'b.txt' }, /exists/],
    ['a folder as new name', { from: 'a.txt', to: 'd' }, /is a folder|exists/],
    ['itself', { from: 'a.txt', to: './a.txt' }, /Both names are the same/],
    ['a folder', { from: 'd', to: 'e' }, /is a folder/],
    ['what does not exist', { from: 'none', to: 'e' }, /does not exist/],
  ])('refuses %s', async (_, given, why) => {
    const { box, hands } = openWorkspace({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'd/x': '' });
    expect(await hands.say('move_file', given)).toMatch(why);
    await expect(hands.preview('move_file', given)).rejects.toThrow(why);
    expect([box.text('a.txt'), box.text('b.txt')]).toEqual(['a\n', 'b\n']);
  });
});

describe.each([
  ['move_file', { from: 'a.txt', to: 'b.txt' }],
  ['delete_file', { path: 'a.txt' }],
])('%s', (tool, args) => {
  it('leaves a call in doubt to a person: files do not say who moved or deleted them', () => {
    expect(openWorkspace().hands.tool(tool)).toMatchObject({ effect: 'unsafe', verify: undefined });
  });

  it('does nothing once the file has other bytes than people were shown', async () => {
    const { box, hands } = openWorkspace({ 'a.txt': 'shown\n' });
    const { plan } = await hands.preview(tool, args);
    box.write('a.txt', 'somebody wrote this meanwhile\n');
    expect(plan).toBeDefined();
    const context = plan === undefined ? {} : { plan };
    expect(await hands.say(tool, args, context)).toMatch(
      /^conflict: Conflict: "a.txt" changed since this was approved/,
    );
    expect(box.text('a.txt')).toBe('somebody wrote this meanwhile\n');
  });
});

describe.each(HOLDINGS)('after the file was touched, in a folder held by %s', (holding) => {
  type Flush = (flush: () => Promise<void>) => Promise<void>;

  /** A root whose folders do this in place of flushing their names. */
  const rootOf = (directory: string, access: FolderAccess, flush: Flush): Root => {
    const root = createRoot(directory, { holding: access });
    return {
      ...root,
      inParent: (path, use, options) =>
        root.inParent(
          path,
          (place) => {
            const sync = (): Promise<void> => flush(() => place.folder.sync());
            return use({ ...place, folder: { ...place.folder, sync } });
          },
          options,
        ),
    };
  };

  /** How the call ends. */
  const outcomeOf = async (root: Root, name: string, args: JsonObject): Promise<RunOutcome> => {
    const tool = takeInHand(createMoveTools(root, { categories: [] })).tool(name);
    const call = { callId: '1.1', id: 'a', arguments: args };
    return runJob({ tool, value: args, call, approved: true, attempt: 1, idempotencyKey: 'k:0' }, {});
  };

  const CALLS: [string, JsonObject][] = [
    ['move_file', { from: 'd/a.txt', to: 'd/b.txt' }],
    ['delete_file', { path: 'd/a.txt' }],
  ];

  it.each(CALLS)('an error of the disk leaves %s in doubt', async (name, args) => {
    const box = makeBox({ 'd/a.txt': 'a' });
    const root = rootOf(box.root, holding, async () => {
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
    });
    const { outcomeKnown, result } = await outcomeOf(root, name, args);
    expect(existsSync(join(box.root, 'd/a.txt'))).toBe(false);
    expect({ outcomeKnown, error: result.error }).toEqual({
      outcomeKnown: false,
      error: {
        code: 'transport',
        message:
          'The system failed (EIO) while "d/a.txt" was changed. Whether the change was made is not known. Look at it before you try again; whether it took effect is not known',
      },
    });
  });

  it.each(CALLS)(
    'a folder that is another one by then leaves %s in doubt, or was held',
    async (name, args) => {
      const box = makeBox({ 'd/a.txt': 'a', 'e/other.txt': '' });
      let isSwapped = false;
      const root = rootOf(box.root, holding, async (flush) => {
        await flush();
        if (isSwapped) return;
        isSwapped = true;
        renameSync(join(box.root, 'd'), join(box.root, 'was-d'));
        renameSync(join(box.root, 'e'), join(box.root, 'd'));
      });
      const { outcomeKnown, result } = await outcomeOf(root, name, args);
      expect(existsSync(join(box.root, 'was-d/a.txt'))).toBe(false);
      expect([outcomeKnown, result.success]).toEqual(
        holding === 'descriptors' ? [true, true] : [false, false],
      );
    },
  );
});

describe('delete_file', () => {
  it('deletes a file, shown as the diff that empties it', async () => {
    const { box, hands } = openWorkspace({ 'a.txt': 'one\ntwo\n' });
    const { text } = await hands.preview('delete_file', { path: 'a.txt' });
    expect(text).toMatch(
      /^Delete a\.txt \(8 bytes, SHA-256 [0-9a-f]{64}\)\n--- a\.txt\n\+\+\+ \/dev\/null\n@@ -1,2 \+0,0 @@\n-one\n-two$/,
    );
    expect(await hands.run('delete_file', { path: './a.txt' })).toBe('Deleted a.txt.');
    expect(readdirSync(box.root)).toEqual([]);
    expect(await hands.say('delete_file', { path: 'a.txt' })).toMatch(/^tool: "a.txt" does not exist/);
  });

  it('shows the head of a long file and how much is left', async () => {
    const { hands } = openWorkspace({ 'a.txt': 'é 0123456789\n'.repeat(5000), 'b.bin': Buffer.alloc(100) });
    const { text } = await hands.preview('delete_file', { path: 'a.txt' });
    expect(text).toMatch(/\n-é 0123456789\n\(and \d+ bytes more\)$/);
    expect(text).not.toContain('Ã');
    expect(Buffer.byteLength(text)).toBeLessThan(20_000);
    expect((await hands.preview('delete_file', { path: 'b.bin' })).text).toMatch(/\n\(binary\)$/);
  });

  it('does not delete folders', async () => {
    expect(await openWorkspace({ 'd/x': '' }).hands.say('delete_file', { path: 'd' })).toMatch(
      /is a folder, not a file/,
    );
  });
});
