// Has a published validator judge the server's description of itself, and ajv replies by it.
// usage: node judge.mjs FOLDER_OF_NODE_MODULES PROGRAM
// PROGRAM is openapi_cases: {"document": ..., "replies": [{"schema", "body"}]}.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, program] = process.argv.slice(2);
const require = createRequire(join(modules, "judge.js"));
const { Validator } = await import(
  pathToFileURL(join(modules, "@seriousme/openapi-schema-validator/index.js"))
);
const Ajv = require("ajv/dist/2020").default;

const { document, replies } = JSON.parse(execFileSync(program, { maxBuffer: 1 << 28 }));
const faults = [];
const expect = (holds, what) => {
  if (!holds) faults.push(what);
};

async function judge(text) {
  const { valid, errors } = await new Validator().validate(text);
  return valid ? null : JSON.stringify(errors);
}

// The document is valid, and invalid without any of these parts.
const copy = () => JSON.parse(JSON.stringify(document));
const wrong = await judge(copy());
expect(wrong === null, `the document: ${wrong}`);
for (const spoil of [
  (d) => delete d.info.version,
  (d) => delete d.openapi,
  (d) => (d.paths["/v1/models"].get.responses = []),
  (d) => (d.paths["/v1/embeddings"].post.requestBody.content = 1),
  (d) => (d.components.parameters.Lane.in = "nowhere"),
]) {
  const spoilt = copy();
  spoil(spoilt);
  expect((await judge(spoilt)) !== null, `no fault is seen after ${spoil}`);
}

// Requests and replies are described by JSON Schema.
const ajv = require("ajv-formats").default(new Ajv({ strict: false, logger: false }));
ajv.addSchema(document, "document");
for (const name of Object.keys(document.components.schemas)) {
  try {
    ajv.compile({ $ref: `document#/components/schemas/${name}` });
  } catch (error) {
    faults.push(`the schema ${name}: ${error.message}`);
  }
}
const seen = new Set();
for (const { schema, body } of replies) {
  const validate = ajv.compile({ $ref: `document#/components/schemas/${schema}` });
  expect(validate(body), `${schema}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`);
  seen.add(schema);
  for (const name of document.components.schemas[schema].required ?? []) {
    const { [name]: _, ...rest } = body;
    expect(!validate(rest), `${schema} is taken without ${name}`);
  }
}
// These are tested with a running server: tests/clients/storage_test.mjs and hindsight_test.mjs.
for (const name of ["FileList", "FileDeleted", "BatchList"]) seen.add(name);
for (const name of ["BankList", "Retained", "Deletion", "Cleared", "ScopeList", "TagList",
  "OperationList", "OperationOrder", "Consolidation", "Recovery", "DocumentPatched",
  "DocumentDeleted", "EntityList", "Entity", "Version", "Liveness", "Readiness"])
  seen.add(`Memory${name}`);
for (const path of Object.values(document.paths)) {
  for (const { responses } of Object.values(path)) {
    const { $ref, anyOf } = responses[200]?.content["application/json"]?.schema ?? {};
    for (const one of anyOf ?? ($ref ? [{ $ref }] : [])) {
      const name = one.$ref.split("/").pop();
      expect(seen.has(name), `no reply was judged by ${name}`);
    }
  }
}

if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
console.log(`the document is sound, ${replies.length} replies are as it says`);
