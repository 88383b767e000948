// Judges texts by schemas of draft 2020-12, with ajv and its formats.
// usage: node judge.mjs FOLDER_OF_NODE_MODULES <cases >verdicts
// A case is a line {"schema": ..., "texts": ["...", ...]}; its answer {"wrong": [...]}, null for
// what is valid, or {"failed": "..."} where ajv does not take the schema.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "judge.js"));
const Ajv = require("ajv/dist/2020").default;
// strict: false: examples and comments do not matter here.
const ajv = require("ajv-formats").default(new Ajv({ strict: false, logger: false }));

function answer({ schema, texts }) {
  let validate;
  try {
    validate = ajv.compile(schema);
    ajv.removeSchema(schema);
  } catch (error) {
    return { failed: String(error.message) };
  }
  return {
    wrong: texts.map((text) => {
      try {
        if (validate(JSON.parse(text))) return null;
        const { keyword, instancePath, message } = validate.errors[0];
        return `${keyword} at "${instancePath}": ${message}`;
      } catch (error) {
        return String(error.message);
      }
    }),
  };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line) process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
}
