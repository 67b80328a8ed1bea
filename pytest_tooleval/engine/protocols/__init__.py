"""What providers' APIs have in place of chat messages, as chat messages.

`responses` reads items of OpenAI's Responses API, `blocks` those of Anthropic's Messages API, `parts`
those of Gemini's generateContent. All of them write to a `ChatBuilder`. `read_messages` takes a mixture.
"""
