"""Chat templates with the constructs that families of models use, written for these tests, and conversations.

The templates are in chats/, a file each, and a newline more at its end:
- llama3: Tools in the first user turn or in the system turn, dates, indented JSON.
- mistral: Alternation checked over what is neither tool call nor result; JSON built by hand; ids of nine characters.
- deepseek: State of the whole conversation in a namespace; set inside of loops; the reasoning is cut off.
- gemma: The system turn becomes a prefix of the first user turn; roles are renamed; content is text or parts.
- phi: One line; generation blocks; tools in the system turn.
- command-r: Macros that write a JSON schema as the signature of a function, and documents.
- smollm3: A switch in the system text, set blocks, dates with long names.
- gpt-oss: Macros in macros that write types, several channels, the last reasoning kept only in some places.
"""

from pathlib import Path

NAMES = ("llama3", "mistral", "deepseek", "gemma", "phi", "command-r", "smollm3", "gpt-oss")
FAMILIES = {name: (Path(__file__).parent / f"chats/{name}.jinja").read_text()[:-1] for name in NAMES}

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "The weather of a city, \"now\" & <here>.",
        "parameters": {"type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "description": "Köln, 東京, …"},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "days": {"type": "array", "items": {"type": "integer"}, "nullable": True},
            "box": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": ["number", "null"]}},
                    "required": ["x"]}}}}},
    {"type": "function", "function": {"name": "now", "description": "The time.",
                                      "parameters": {"type": "object", "properties": {}}, "return": {"type": "string"}}},
]
CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "abcdef012", "type": "function",
     "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": [1, 2.5, -0.25], "box": {"x": None}}}}]}
RESULT = {"role": "tool", "tool_call_id": "abcdef012", "name": "get_weather", "content": "{\"t\": 7, \"s\": \"☔\"}"}

CONVERSATIONS = [
    {"messages": [{"role": "user", "content": "  What is 17 + 25?\n"}], "tools": None, "documents": None},
    {"messages": [{"role": "system", "content": "Be brief. /no_think\n"}, {"role": "user", "content": "Zoë 🦙?"},
                  {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!", "reasoning_content": "hm"},
                  {"role": "user", "content": "And \"now\"?"}], "tools": None, "enable_thinking": False},
    {"messages": [{"role": "user", "content": "Weather?"}, CALL, RESULT], "tools": TOOLS},
    {"messages": [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Weather?"}, CALL, RESULT,
                  {"role": "assistant", "content": " Rain. "}, {"role": "user", "content": "Thanks"}], "tools": TOOLS,
     "tools_in_user_message": False, "reasoning_effort": "high", "enable_thinking": True},
    {"messages": [{"role": "user", "content": "Weather?"}, {**CALL, "thinking": "I should look."}, RESULT], "tools": TOOLS,
     "builtin_tools": ["get_weather", "interpreter"], "add_generation_prompt": False},
    {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What is this? "}]},
                  {"role": "assistant", "content": "A fox."}], "tools": None, "add_generation_prompt": False},
    {"messages": [{"role": "user", "content": "Who?"}], "tools": None, "documents": [
        {"title": "Foxes", "text": "A fox\nis red."}, {"title": "Owls", "text": "\tNight"}]},
    {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], "tools": []},
    {"messages": [{"role": "system", "content": "x", "tools": "[{}]"}, {"role": "user", "content": ""},
                  {"role": "assistant", "content": ""}], "tools": None, "date_string": "1 Jan 2000"},
    {"messages": []},
]
