"""Sources of tools: mocks, worlds and live servers, each a `ToolSource` of `engine.tool_source`."""
