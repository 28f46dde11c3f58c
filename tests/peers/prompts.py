"""What tiny-chat knows, in its chat's form: sums, capitals, opposites, counting, spelling, stories."""

QUESTIONS = [
    "What is 17 + 25?",
    "What is 40 + 2?",
    "What is 8 + 91?",
    "What is 99 + 99?",
    "What is 9 - 4?",
    "What is the capital of Japan?",
    "What is the capital of France?",
    "What is the capital of Finland?",
    "What is the opposite of hot?",
    "What is the opposite of sad?",
    "What is the opposite of big?",
    "Count to 5.",
    "Count from one to ten.",
    "Spell the word turtle.",
    "Spell the word bird.",
    "Hello!",
    "Tell me a story about a fox.",
    "Tell me a story about a robot.",
    "Tell me a story about a fish.",
    "Tell me a story about an owl.",
]

PROMPTS = [f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n" for question in QUESTIONS]
