"""The chat template against what the models are trained on."""
from __future__ import annotations

import unittest
from pathlib import Path

import jinja2

import tasks

SOURCE = Path(__file__).with_name("chat_template.jinja").read_text()


class ChatTemplateTest(unittest.TestCase):
    def render(self, messages: list[dict], **more: object) -> list[str]:
        """With white space around blocks kept, and taken away as Hugging Face's library does."""
        return [jinja2.Environment(trim_blocks=trim, lstrip_blocks=trim).from_string(SOURCE).render(
            messages=messages, add_generation_prompt=True, **more) for trim in (False, True)]

    def test_every_task(self) -> None:
        for task in tasks.TASKS:
            for number in range(20):
                example = tasks.example(task, "train", number)
                system, user = (message["content"] for message in example.messages)
                if example.tools:
                    system = tasks.render_system(system, example.tools)
                wanted = (f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}"
                          "<|im_end|>\n<|im_start|>assistant\n")
                self.assertEqual(self.render(example.messages, tools=example.tools), [wanted] * 2)

    def test_no_thoughts(self) -> None:
        messages = [{"role": "user", "content": "x"}]
        for text in self.render(messages, enable_thinking=False):
            self.assertTrue(text.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n"))

    def test_calls_and_their_results(self) -> None:
        call = {"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
        for text in self.render([{"role": "user", "content": "x"},
                                 {"role": "assistant", "content": None, "tool_calls": [call]},
                                 {"role": "tool", "content": "5"}]):
            self.assertIn('<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": '
                          '{"a": 1}}\n</tool_call><|im_end|>\n<|im_start|>tool\n5<|im_end|>\n',
                          text)


if __name__ == "__main__":
    unittest.main()
