// Renders cases with @huggingface/jinja; lines in and out as render_cases.cc has them.
// usage: node hugging_face.mjs FOLDER_OF_THE_MODULE <cases >answers
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const { Environment, Interpreter, parse, tokenize } = await import(pathToFileURL(join(process.argv[2], "dist/index.js")).href);

class Refused extends Error {}

// oracle.py: the same moment.
const pad = (number) => String(number).padStart(2, "0");
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August",
  "September", "October", "November", "December"];
const DIRECTIVES = { Y: "2026", m: "07", d: "05", H: "14", M: "03", S: "09", b: "Jul",
  B: MONTHS[6], A: "Sunday", a: "Sun", y: "26", j: pad(186), "%": "%" };
const strftime = (format) => format.replace(/%(.)/g, (all, letter) => DIRECTIVES[letter] ?? all);

const range = (start, stop, step = 1) => {
  if (stop === undefined) [start, stop] = [0, start];
  const numbers = [];
  for (let n = start; step > 0 ? n < stop : n > stop; n += step) numbers.push(n);
  return numbers;
};

const templates = new Map();

function answer(request) {
  try {
    if (!templates.has(request.template)) {
      const tokens = tokenize(request.template, { lstrip_blocks: true, trim_blocks: true });
      templates.set(request.template, parse(tokens));
    }
    const environment = new Environment();
    const globals = {
      true: true, True: true, false: false, False: false, none: null, None: null, range,
      strftime_now: strftime,
      raise_exception: (message) => { throw new Refused(message); },
    };
    for (const [name, value] of Object.entries({ ...globals, ...request.variables })) {
      environment.set(name, value);
    }
    return { text: new Interpreter(environment).run(templates.get(request.template)).value };
  } catch (error) {
    if (error instanceof Refused) return { raised: error.message };
    return { failed: String(error.message) };
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line) process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
}
