// docs/clients.md: its examples for Node and for curl run as they stand, against a server of this
// test's own in place of the one they name, and the versions it tells are those of the packages.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { models, Server } from './server.mjs';

const here = import.meta.dirname; // the packages lie beside it
const folder = mkdtempSync(join(tmpdir(), 'windrow-clients-'));
const document = readFileSync(join(process.env.WINDROW_DOCS, 'clients.md'), 'utf8');
const examples = [...document.matchAll(/^```(js|bash)\n([^]*?)^```$/gm)]
    .map(([, language, text]) => ({ language, text }));
let server;

before(async () => {
  server = await Server.start(['--model', 'chat=sim:instant,answer-tokens=8',
                               '--model', `embed=${models}/bert-f32.gguf`,
                               '--data-dir', join(folder, 'data')]);
});
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(command, words) {
  const child = spawn(command, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.on('data', (bytes) => { said += bytes; });
  child.stderr.on('data', (bytes) => { said += bytes; });
  const [code] = await once(child, 'close');
  return { code, said };
}

test('there are examples', () => {
  assert.ok(examples.length >= 8, `${examples.length} examples`);
  assert.ok(examples.every(({ text }) => text.includes('http://127.0.0.1:8080')));
});

for (const [i, { language, text }] of examples.entries()) {
  const name = `example ${i + 1} (${language}): ${text.split('\n').find((line) => line !== '')}`;
  test(name, async () => {
    const own = text.replaceAll('http://127.0.0.1:8080', server.url);
    const path = join(here, `example_${i}.${language === 'js' ? 'mjs' : 'sh'}`);
    writeFileSync(path, own);
    const { code, said } = language === 'js' ? await run(process.execPath, [path])
                                             : await run('bash', ['-e', path]);
    assert.equal(code, 0, said);
    assert.notEqual(said.trim(), '', 'it shows something');
    assert.ok(!said.includes('undefined'), said);
  });
}

test('its versions are those of the packages', () => {
  const told = [...document.matchAll(/^\| [^|]*?`(@?[\w/-]+)`[^|]*\| (\d+\.\d+\.\d+) \|/gm)];
  assert.ok(told.length >= 7, `${told.length} versions`);
  for (const [, name, version] of told) {
    const file = join(here, 'node_modules', name, 'package.json');
    assert.equal(version, JSON.parse(readFileSync(file, 'utf8')).version, name);
  }
});
