"""Converts the message formats of providers' APIs to chat messages.

`responses` reads items of OpenAI's Responses API, `blocks` reads blocks of Anthropic's Messages API, and
`parts` reads parts of Gemini's generateContent. All write to a `ChatBuilder`. `read_messages` accepts a
mixture.
"""
