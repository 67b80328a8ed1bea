"""The weather suite, and a chain: the examples that the format began with, as they were published."""

from __future__ import annotations

WEATHER = """\
{
  "name": "Weather API Suite",
  "description": "Tests weather tool calling",
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "get_weather",
        "description": "Get current weather for a city",
        "parameters": {
          "type": "object",
          "properties": {
            "city": { "type": "string", "description": "City name" },
            "units": { "type": "string", "enum": ["celsius", "fahrenheit"] }
          },
          "required": ["city"]
        }
      }
    }
  ],
  "test_cases": [
    {
      "prompt": "What's the weather in Paris?",
      "expected_tool": "get_weather",
      "expected_params": { "city": "Paris" }
    },
    {
      "prompt": "Temperature in Tokyo in Fahrenheit",
      "expected_tool": "get_weather",
      "expected_params": { "city": "Tokyo", "units": "fahrenheit" }
    }
  ]
}
"""

FLIGHT = """\
{
  "prompt": "Book a flight from NYC to London for next Friday",
  "expected_tool": "book_flight",
  "expected_params": { "origin": "NYC", "destination": "London" },
  "multi_turn": true,
  "max_rounds": 5,
  "optimal_hops": 2,
  "valid_prerequisites": ["search_flights", "get_availability"],
  "mock_responses": {
    "search_flights": { "flights": [{"id": "FL123", "price": 450}] },
    "get_availability": { "available": true, "seats": 12 }
  }
}
"""
