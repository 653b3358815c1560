"""Makes published.json: what Hugging Face's rendering makes of one conversation by published chat templates.

    python published.py DIR    # the folder `models` of llama.cpp's source, which has copies; needs transformers, jinja2

Per template and switch of thoughts the text alone, of the conversation below, on the day that moot gives to templates.
The templates are not kept here.
"""
import datetime
import json
import sys
from pathlib import Path

from transformers.utils.chat_template_utils import _compile_jinja_template

HERE = Path(__file__).parent
TEMPLATES = """
    HuggingFaceTB-SmolLM3-3B Qwen-Qwen3-0.6B Qwen3.5-4B openai-gpt-oss-120b ibm-granite-granite-3.3-2B-Instruct
    ibm-granite-granite-4.1 mistralai-Ministral-3-14B-Reasoning-2512 Mistral-Small-3.2-24B-Instruct-2506
    google-gemma-4-31B-it LFM2-8B-A1B
""".split()
DAY = datetime.date(2024, 7, 26)
MESSAGES = [
    {"role": "system", "content": "Answer briefly."},
    {"role": "user", "content": " Who built it? "},
    {"role": "assistant", "content": "A smith."},
    {"role": "user", "content": "When?"},
]


def rendered(source, thinking):
    template = _compile_jinja_template(source)
    template.environment.globals["strftime_now"] = DAY.strftime
    fields = dict(messages=MESSAGES, add_generation_prompt=True, enable_thinking=thinking, tools=None, documents=None)
    # Given to templates that know no `enable_thinking` but the channel of thoughts.
    if "<|channel|>" in source:
        fields["reasoning_effort"] = "medium" if thinking else "low"
    return template.render(**fields, bos_token="<s>", eos_token="</s>")


def main(folder):
    cases = {}
    for name in TEMPLATES:
        source = (Path(folder) / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
        cases[name] = {"on" if thinking else "off": rendered(source, thinking) for thinking in (True, False)}
    text = json.dumps({"messages": MESSAGES, "templates": cases}, ensure_ascii=True, indent=1)
    (HERE / "published.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
