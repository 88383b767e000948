// The tokenizer of Llama 3, for prepare.py.
//
//   node tokens.mjs MODULES                < texts > tokens   a JSON string a line becomes an array of ids
//   node tokens.mjs MODULES --vocabulary   > file             a token a line: base64, a blank, its id
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [modules, mode] = process.argv.slice(2);
const path = `${modules}/llama3-tokenizer-js/bundle/llama3-tokenizer-with-baked-data.js`;
const { default: tokenizer } = await import(pathToFileURL(path));

// The first token that is a control token: all tokens with a text come before it.
const controlTokens = tokenizer.vocabById.indexOf('<|begin_of_text|>');

// Byte-level vocabularies spell bytes that do not print as characters from U+0100 on.
function byteOfCharacter() {
  const prints = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  const bytes = new Map();
  let next = 256;
  for (let byte = 0; byte < 256; ++byte) {
    bytes.set(String.fromCodePoint(prints(byte) ? byte : next++), byte);
  }
  return bytes;
}

if (mode === '--vocabulary') {
  const bytes = byteOfCharacter();
  const lines = tokenizer.vocabById.slice(0, controlTokens).map((token, id) =>
    `${Buffer.from([...token].map((character) => bytes.get(character))).toString('base64')} ${id}`);
  process.stdout.write(lines.join('\n') + '\n');
} else {
  const options = { bos: false, eos: false, specialTokenRegex: /(?!)/g };
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(tokenizer.encode(JSON.parse(line), options)) + '\n');
  }
}
