"""Programs with servers elsewhere that fail, end, or are not there."""

import json
import signal
import socket
import unittest

from exec_program import Programs, SimUpstream, ended, numbers, wait_until

# The server echoes the last line, so each answer can be told from all others.
ECHOES = """
return function(input)
  local base <close> = Context.new():system("Repeat.")
  local names = {}
  for i = 1, 4 do names[i] = "row " .. input.number .. " branch " .. i end
  return map(names, function(name)
    local ctx <close> = base:fork():user(name)
    local first = ctx:generate{max_tokens = 50}.text
    ctx:user("then " .. name)
    return {first, ctx:generate{max_tokens = 50}.text}
  end)
end
"""


def expected(count):
    return {f"row-{row}": [[f"row {row} branch {i}", f"then row {row} branch {i}"]
                           for i in range(1, 5)] for row in range(1, count + 1)}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Upstreams(Programs):
    def setUp(self):
        super().setUp()
        self.write("echoes.lua", ECHOES)

    def job(self, *words, count=12):
        self.write("rows.jsonl", numbers(count))
        return ("exec", "echoes.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                "--program-model", "any", *words)

    def server(self, *words):
        return self.enterContext(SimUpstream("--answer", "echo", "--token-ms", "0",
                                             "--prompt-token-us", "0", "--slots", "32", *words))

    def test_every_branch_has_its_own_answer(self):
        done = self.windrow(*self.job("--upstream", self.server().url))
        self.check(done, 0)
        self.assertEqual(self.results(), expected(12))

    def test_a_budget_ends_the_job_and_a_larger_one_continues_it(self):
        server = self.server()
        self.write("prices.toml", "[any]\ninput = 1000.0\noutput = 1000.0\n")
        limits = ("--upstream", server.url, "--prices", "prices.toml", "--concurrency", "4")
        first = self.windrow(*self.job(*limits, "--max-cost", "4.2"))
        self.check(first, 4, "--max-cost 4.2 would be exceeded")
        done = self.results()
        self.assertLess(len(done), 12)  # all twelve cost 4.55
        self.assertLessEqual(done.items(), expected(12).items())
        self.assertEqual(self.failures(), {})
        self.check(self.windrow(*self.job(*limits, "--max-cost", "1000")), 0)
        self.assertEqual(self.results(), expected(12))

    def test_two_servers(self):
        done = self.windrow(*self.job("--upstream", self.server().url, "--upstream",
                                      self.server().url))
        self.check(done, 0)
        self.assertEqual(self.results(), expected(12))

    def test_faults_that_are_tried_again(self):
        faults = ("429=0.1", "5xx=0.1", "reset=0.05", "truncated=0.05", "not-json=0.05",
                  "500-text=0.05")
        words = [word for fault in faults for word in ("--fault", fault)]
        done = self.windrow(*self.job("--upstream", self.server(*words).url, "--max-attempts",
                                      "20", count=4))
        self.check(done, 0)
        self.assertEqual(self.results(), expected(4))

    def test_a_refused_request_fails_its_row(self):
        done = self.windrow(*self.job("--upstream", self.server("--fault", "400=1").url, count=3))
        self.check(done, 1, "0 succeeded, 3 failed")
        self.assertEqual(len(self.failures()), 3)
        self.assertIn("stack traceback:", self.message_of("row-1"))

    def test_a_program_may_catch_a_refused_request(self):
        self.write("once.lua", "")
        done = self.once("""return function()
          local ok, e = pcall(function() return Context.new():user("x"):generate{} end)
          return {ok, e.status, type(e.code), type(e.message)}
        end""", None, "--upstream", self.server("--fault", "400=1").url, "--program-model", "any",
                         model=None)
        self.check(done, 0)
        self.assertEqual(json.loads(done.out), [False, 400, "string", "string"])

    def test_nothing_listens(self):
        url = f"http://127.0.0.1:{free_port()}/v1"
        done = self.windrow(*self.job("--upstream", url))
        self.check(done, 3, "nothing listens there")
        self.assertEqual(self.results(), {})
        self.assertEqual(self.failures(), {})
        done = self.once(ECHOES, {"number": 1}, "--upstream", url, "--program-model", "any",
                         model=None)
        self.check(done, 3, "nothing listens there")

    def test_a_server_that_ends_costs_no_row(self):
        """The job waits for it, and goes on where it comes again."""
        port = free_port()
        server = self.server("--request-ms", "20", "--port", port)
        process = self.start(*self.job("--upstream", server.url, "--programs-in-flight", "2"))
        self.assertTrue(wait_until(process, lambda: self.lines("results.jsonl")))
        server.process.kill()
        self.wait_for_error(process, b"nothing listens there")
        self.server("--port", port)
        self.check(ended(process), 0)
        self.assertEqual(self.results(), expected(12))

    def test_a_server_that_is_gone_is_no_result(self):
        """Also where a program catches every error."""
        self.write("echoes.lua", """return function(input)
          local ok = pcall(function() Context.new():user("x"):generate{max_tokens = 5} end)
          return ok
        end""")
        port = free_port()
        server = self.server("--request-ms", "30", "--port", port)
        process = self.start(*self.job("--upstream", server.url, "--programs-in-flight", "1",
                                       "--grace", "1"))
        self.assertTrue(wait_until(process, lambda: self.lines("results.jsonl")))
        server.process.kill()
        self.wait_for_error(process, b"nothing listens there")
        self.assertLess(len(self.results()), 12)
        process.send_signal(signal.SIGINT)
        self.check(ended(process), 130)
        self.assertEqual(set(self.results().values()), {True})
        self.server("--port", port)
        self.check(self.windrow(*self.job("--upstream", server.url)), 0)
        self.assertEqual(self.results(), {f"row-{i}": True for i in range(1, 13)})
        self.assertEqual(self.failures(), {})

    def wait_for_error(self, process, text):
        line = b""
        while text not in line:
            line = process.stderr.readline()
            self.assertNotEqual(line, b"", "it has ended")

    def test_structures(self):
        """The simulated server makes an object that fits."""
        server = self.enterContext(SimUpstream("--token-ms", "0", "--prompt-token-us", "0"))
        found = self.once("""return function()
          local ctx = Context.new():user("x")
          local answer = ctx:generate{max_tokens = 200, schema = {type = "object", properties = {
            a = {type = "integer"}}, required = {"a"}, additionalProperties = false}}
          local text, index, scores = ctx:user("y"):select{"yes", "no"}
          return {math.type(answer.value.a), text, index, scores == nil or #scores}
        end""", None, "--upstream", server.url, "--program-model", "any", model=None)
        self.check(found, 0)
        kind, text, index, _ = json.loads(found.out)
        self.assertEqual(kind, "integer")
        self.assertEqual(["yes", "no"][index - 1], text)


if __name__ == "__main__":
    unittest.main()
