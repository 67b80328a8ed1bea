"""An agent of each library, as its users write it: `agent`, with tools that log that they really run."""

from __future__ import annotations

from nightly import at_night

from .running import Call

_TOOLS = '''
def find_station(city: str) -> str:
    """Find the station of a city.

    Args:
        city: The name of the city.
    """
    open("really.log", "a").write(city)
    return "S7"

def get_weather(city: str) -> str:
    """Get the weather at a station.

    Args:
        city: The station.
    """
    open("really.log", "a").write(city)
    if city == "Down":
        raise RuntimeError("503 Service Unavailable")
    if city == "Slow":
        raise TimeoutError("timed out")
    return "Error: none" if city == "Odd" else "rain"
'''

AGENTS = {
    "openai_agents": (
        "agents",
        """
from agents import Agent, OpenAIChatCompletionsModel, function_tool
from openai import AsyncOpenAI

model = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=URL, api_key="none"))
tools = [function_tool(find_station), function_tool(get_weather)]
agent = Agent(name="weather", instructions="Be right.", model=model, tools=tools)
""",
    ),
    "pydantic_ai": (
        "pydantic_ai",
        """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=URL, api_key="none"))
agent = Agent(model, instructions="Be right.", tools=[find_station, get_weather])
""",
    ),
    "langgraph": (
        "langgraph",
        """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="m", base_url=URL, api_key="none")
agent = create_agent(model, [find_station, get_weather], system_prompt="Be right.")
""",
    ),
    "google_adk": (
        "google.adk",
        """
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

model = LiteLlm(model="openai/m", api_base=URL, api_key="none")
agent = LlmAgent(
    name="weather", instruction="Be right.", model=model, tools=[find_station, get_weather]
)
""",
    ),
    "crewai": (
        "crewai",
        """
from crewai import Agent, LLM
from crewai.tools import tool

llm = LLM(model="openai/gpt-4o", base_url=URL, api_key="none")
tools = [tool(find_station), tool(get_weather)]
agent = Agent(role="weather", goal="Be right.", backstory="You are old.", llm=llm, tools=tools)
""",
    ),
    "claude_agent": (
        "claude_agent_sdk",
        """
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

def text(answer):
    return {"content": [{"type": "text", "text": answer}]}

@tool("find_station", "Find the station of a city.", {"city": str})
async def find(arguments):
    return text(find_station(**arguments))

@tool("get_weather", "Get the weather at a station.", {"city": str})
async def weather(arguments):
    return text(get_weather(**arguments))

agent = ClaudeAgentOptions(
    model="claude-sonnet-5",
    system_prompt="Be right.",
    mcp_servers={"suite": create_sdk_mcp_server("suite", tools=[find, weather])},
    allowed_tools=["mcp__suite"],
    tools=[],
    setting_sources=[],
    strict_mcp_config=True,
    env={
        "ANTHROPIC_BASE_URL": URL.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": "claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    },
)
""",
    ),
}

# Claude's agents start a program for each case.
LIBRARIES = [at_night(name) if name == "claude_agent" else name for name in AGENTS]


# What makes of each agent one whose answer is a form.
FORMS = {
    "openai_agents": "agent = agent.clone(output_type=Forecast)",
    "pydantic_ai": (
        'agent = Agent(model, output_type=Forecast, instructions="Be right.", '
        "tools=[find_station, get_weather])"
    ),
    "langgraph": (
        "from langchain.agents.structured_output import ToolStrategy\n"
        "agent = create_agent(model, [find_station, get_weather], "
        'system_prompt="Be right.", response_format=ToolStrategy(Forecast))'
    ),
}
# Agents with guards of their own: `asking` wants an approval for each call of get_weather and refuses
# Atlantis, `limited` ends after three answers of its model, and `tripped` by a guardrail, in Hell.
GUARDS = {
    "openai_agents": """
from agents import ToolGuardrailFunctionOutput as Output
from agents import tool_input_guardrail

@tool_input_guardrail
def check(data):
    if "Hell" in data.context.tool_arguments:
        return Output.raise_exception()
    if "Atlantis" in data.context.tool_arguments:
        return Output.reject_content("no such city")
    return Output.allow()

asking = tripped = agent.clone(tools=[
    function_tool(find_station, tool_input_guardrails=[check]),
    function_tool(get_weather, needs_approval=True),
])
limited, limits = agent, {"max_turns": 3}
""",
    "pydantic_ai": """
from pydantic_ai import ModelRetry, SkipToolExecution, Tool, UsageLimits
from pydantic_ai.capabilities import AbstractCapability

class Check(AbstractCapability):
    async def before_tool_execute(self, ctx, *, call, tool_def, args):
        if args["city"] == "Hell":
            raise ModelRetry("not there")
        if args["city"] == "Atlantis":
            raise SkipToolExecution("no such city")
        return args

asking = tripped = Agent(
    model,
    instructions="Be right.",
    tools=[find_station, Tool(get_weather, requires_approval=True)],
    capabilities=[Check()],
)
limited, limits = agent, {"usage_limits": UsageLimits(request_limit=3)}
""",
    "langgraph": """
from langchain.agents.middleware import HumanInTheLoopMiddleware, PIIMiddleware, wrap_tool_call
from langchain_core.messages import ToolMessage

@wrap_tool_call
async def check(request, handler):
    if request.tool_call["args"]["city"] == "Atlantis":
        return ToolMessage("no such city", tool_call_id=request.tool_call["id"], status="error")
    return await handler(request)

def make(*middleware):
    return create_agent(
        model, [find_station, get_weather], system_prompt="Be right.", middleware=middleware
    )

asking = make(HumanInTheLoopMiddleware({"get_weather": True}), check)
tripped = make(PIIMiddleware("hell", detector="Hell", strategy="block", apply_to_tool_results=True))
limited, limits = agent.with_config(recursion_limit=6), {}
""",
    "google_adk": """
from google.adk.agents.run_config import RunConfig
from google.adk.tools import FunctionTool

def check(tool, args, tool_context):
    return {"error": "no such city"} if args["city"] == "Atlantis" else None

asking = agent.clone(update={
    "tools": [find_station, FunctionTool(get_weather, require_confirmation=True)],
    "before_tool_callback": check,
})
limited, limits = agent, {"run_config": RunConfig(max_llm_calls=3)}
""",
    "crewai": """
from crewai.hooks import before_tool_call

@before_tool_call
def check(context):
    if context.agent.goal == "Be asking." and context.tool_name == "get_weather":
        return context.request_human_input("May I?") == "approve"
    return False if context.tool_input["city"] == "Atlantis" else None

asking = agent.model_copy(update={"goal": "Be asking."})
tripped = agent.model_copy(
    update={"guardrail": lambda output: (False, "in Hell"), "guardrail_max_retries": 1}
)
limited, limits = agent, {}
""",
    "claude_agent": """
from dataclasses import replace
from claude_agent_sdk import HookMatcher

async def check(call, id, context):
    if call["tool_input"]["city"] != "Atlantis":
        return {}
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "no such city"}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

asking = replace(
    agent,
    allowed_tools=["mcp__suite__find_station"],
    hooks={"PreToolUse": [HookMatcher(hooks=[check])]},
)

async def check_prompt(call, id, context):
    return {"decision": "block", "reason": "not there"} if "Hell" in call["prompt"] else {}

tripped = replace(agent, hooks={"UserPromptSubmit": [HookMatcher(hooks=[check_prompt])]})
limited, limits = replace(agent, max_turns=3), {}
""",
}
# Other ways of a library to want an approval for get_weather.
ASKING = {
    "openai_agents: a function": """
async def paris(context, arguments, id):
    return arguments["city"] == "Paris"

asking = agent.clone(tools=[
    function_tool(find_station), function_tool(get_weather, needs_approval=paris)
])
""",
    "pydantic_ai: a toolset": """
from pydantic_ai import FunctionToolset

weather = FunctionToolset([get_weather]).approval_required()
asking = Agent(model, instructions="Be right.", tools=[find_station], toolsets=[weather])
""",
    "langgraph: per call": """
from langchain.agents.middleware import HumanInTheLoopMiddleware

asks = HumanInTheLoopMiddleware({"get_weather": True}, interrupt_mode="per_call")
asking = create_agent(
    model, [find_station, get_weather], system_prompt="Be right.", middleware=[asks]
)
""",
    "langgraph: before the node": """
asking = create_agent(
    model, [find_station, get_weather], system_prompt="Be right.", interrupt_before=["tools"]
)
""",
    "claude_agent: a hook": """
from dataclasses import replace
from claude_agent_sdk import HookMatcher

async def ask(call, id, context):
    decision = {"permissionDecision": "ask", "permissionDecisionReason": "it rains"}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

asks = HookMatcher("mcp__suite__get_weather", hooks=[ask])
asking = replace(agent, hooks={"PreToolUse": [asks]})
""",
    # With these, the tool itself asks.
    "pydantic_ai: the tool": """
from pydantic_ai import ApprovalRequired, RunContext, Tool

def ask(context: RunContext, city: str) -> str:
    if not context.tool_call_approved:
        raise ApprovalRequired
    return get_weather(city)

asking = Agent(model, instructions="Be right.", tools=[find_station, Tool(ask, name="get_weather")])
""",
    "langgraph: the tool": """
from langchain_core.tools import tool
from langgraph.types import interrupt

@tool("get_weather")
def ask(city: str) -> str:
    "Get the weather at a station."
    return get_weather(city) if interrupt("May I?") else "rejected"

asking = create_agent(model, [find_station, ask], system_prompt="Be right.")
""",
    "google_adk: the tool": """
def ask(city: str, tool_context) -> str:
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="May I?")
        return "waits"
    return get_weather(city) if tool_context.tool_confirmation.confirmed else "rejected"

ask.__name__ = "get_weather"
asking = agent.clone(update={"tools": [find_station, ask]})
""",
}
# A guard, and an MCP server with get_weather, of the OpenAI Agents SDK.
_NO_ATLANTIS = """
from agents import ToolGuardrailFunctionOutput as Output
from agents import tool_input_guardrail

@tool_input_guardrail
def check(data):
    if "Atlantis" in data.context.tool_arguments:
        return Output.reject_content("no such city")
    return Output.allow()
"""
_SERVER = """
from agents.mcp import MCPServer
from mcp import types

class Server(MCPServer):
    name = "weather"
    async def connect(self): ...
    async def cleanup(self): ...
    async def list_prompts(self): ...
    async def get_prompt(self, name, arguments=None): ...
    async def list_tools(self, run_context=None, agent=None):
        schema = tools[1].params_json_schema
        return [types.Tool(name="get_weather", description="", input_schema=schema)]
    async def call_tool(self, tool_name, arguments, meta=None):
        try:
            text, is_error = get_weather(**arguments), False
        except Exception as error:
            text, is_error = f"{type(error).__name__}: {error}", True
        content = types.TextContent(type="text", text=text)
        return types.CallToolResult(content=[content], is_error=is_error)
"""

# Agents that go on after an error of get_weather, as their users let them, and refuse Atlantis.
ENDINGS = {
    "openai_agents": _NO_ATLANTIS
    + """
asking = agent.clone(tools=[
    function_tool(find_station), function_tool(get_weather, tool_input_guardrails=[check])
])
""",
    "openai_agents: a text of its own": _NO_ATLANTIS
    + """
weather = function_tool(
    get_weather,
    tool_input_guardrails=[check],
    failure_error_function=lambda context, error: "It will be fine.",
)
asking = agent.clone(tools=[function_tool(find_station), weather])
""",
    "openai_agents: MCP": _NO_ATLANTIS
    + _SERVER
    + """
server = Server(tool_input_guardrails=[check])
asking = agent.clone(tools=[function_tool(find_station)], mcp_servers=[server])
""",
    "pydantic_ai": """
from pydantic_ai import ModelRetry, SkipToolExecution
from pydantic_ai.capabilities import AbstractCapability

class Check(AbstractCapability):
    async def before_tool_execute(self, ctx, *, call, tool_def, args):
        if args["city"] == "Atlantis":
            raise SkipToolExecution("no such city")
        return args

def get_weather_or_retry(city: str) -> str:
    try:
        return get_weather(city)
    except Exception as error:
        raise ModelRetry(f"{type(error).__name__}: {error}")

get_weather_or_retry.__name__ = "get_weather"
asking = Agent(
    model,
    instructions="Be right.",
    tools=[find_station, get_weather_or_retry],
    capabilities=[Check()],
)
""",
    "pydantic_ai: a capability": """
from pydantic_ai import SkipToolExecution
from pydantic_ai.capabilities import AbstractCapability

class Check(AbstractCapability):
    async def before_tool_execute(self, ctx, *, call, tool_def, args):
        if args["city"] == "Atlantis":
            raise SkipToolExecution("no such city")
        return args

    async def on_tool_execute_error(self, ctx, *, call, tool_def, args, error):
        return "It will be fine."

asking = Agent(
    model, instructions="Be right.", tools=[find_station, get_weather], capabilities=[Check()]
)
""",
    "langgraph": """
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage

@wrap_tool_call
async def check(request, handler):
    id = request.tool_call["id"]
    if request.tool_call["args"]["city"] == "Atlantis":
        return ToolMessage("no such city", tool_call_id=id)
    try:
        return await handler(request)
    except Exception as error:
        return ToolMessage("It will be fine.", tool_call_id=id)

asking = create_agent(
    model, [find_station, get_weather], system_prompt="Be right.", middleware=[check]
)
""",
    "langgraph: a second try": """
from langchain.agents.middleware import ToolRetryMiddleware, wrap_tool_call
from langchain_core.messages import ToolMessage

@wrap_tool_call
async def check(request, handler):
    if request.tool_call["args"]["city"] == "Atlantis":
        return ToolMessage("no such city", tool_call_id=request.tool_call["id"])
    return await handler(request)

again = ToolRetryMiddleware(max_retries=1, initial_delay=0, on_failure="continue")
asking = create_agent(
    model, [find_station, get_weather], system_prompt="Be right.", middleware=[check, again]
)
""",
    "langgraph: the node": """
from langchain_core.messages import ToolMessage
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

def check(request, handler):
    if request.tool_call["args"]["city"] == "Atlantis":
        return ToolMessage("no such city", tool_call_id=request.tool_call["id"])
    return handler(request)

async def ask(state):
    bound = model.bind_tools([find_station, get_weather])
    return {"messages": [await bound.ainvoke([("system", "Be right."), *state["messages"]])]}

asking = StateGraph(MessagesState).add_node("ask", ask).set_entry_point("ask")
asking.add_node("tools", ToolNode(
    [find_station, get_weather], handle_tool_errors=True, wrap_tool_call=check
))
asking.add_conditional_edges("ask", tools_condition).add_edge("tools", "ask")
asking = asking.compile()
""",
    "google_adk": """
def check(tool, args, tool_context):
    return {"result": "no such city"} if args["city"] == "Atlantis" else None

def recover(tool, args, tool_context, error):
    return {"result": "It will be fine."}

asking = agent.clone(update={
    "before_tool_callback": check, "on_tool_error_callback": recover,
})
""",
    "crewai": """
from crewai.hooks import before_tool_call

@before_tool_call
def check(context):
    return False if context.tool_input["city"] == "Atlantis" else None

asking = agent
""",
    "crewai: a failure": """
from crewai.hooks import before_tool_call
from crewai.tools.tool_failure import ToolFailure

@before_tool_call
def check(context):
    return False if context.tool_input["city"] == "Atlantis" else None

def weather(city: str):
    "Get the weather at a station."
    try:
        return get_weather(city)
    except Exception as error:
        return ToolFailure(message="It will be fine.", code=type(error).__name__)

weather.__name__ = "get_weather"
asking = agent.model_copy(update={"tools": [tool(find_station), tool(weather)]})
""",
    "claude_agent": """
from dataclasses import replace
from claude_agent_sdk import HookMatcher

async def check(call, id, context):
    if call["tool_input"]["city"] != "Atlantis":
        return {}
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "no such city"}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

asking = replace(agent, hooks={"PreToolUse": [HookMatcher(hooks=[check])]})
""",
}
# Agents whose tools are those of another agent or of a server. The model gets there by the calls, or by
# a tool that is the other agent: its name, the field of its prompt, and its other arguments.
OTHERS: dict[str, tuple[str, str, list[Call], tuple[str, str, dict[str, str]] | None]] = {
    "openai_agents: handoff": (
        "openai_agents",
        """
inner = Agent(name="inner", model=model, instructions="Be right.", tools=tools)
agent = Agent(name="outer", model=model, instructions="Be right.", handoffs=[inner])
""",
        [("transfer_to_inner", {})],
        None,
    ),
    "openai_agents: MCP": (
        "openai_agents",
        _SERVER
        + """
agent = Agent(name="outer", model=model, instructions="Be right.", mcp_servers=[Server()])
""",
        [],
        None,
    ),
    "langgraph: subgraph": (
        "langgraph",
        """
from langgraph.graph import MessagesState, StateGraph

inner = agent
agent = StateGraph(MessagesState).add_node("inner", inner).set_entry_point("inner").compile()
""",
        [],
        None,
    ),
    "google_adk: sub-agent": (
        "google_adk",
        """
change = {"disallow_transfer_to_parent": True, "disallow_transfer_to_peers": True}
inner = agent.clone(update={"name": "inner", **change})
agent = LlmAgent(name="outer", instruction="Be right.", model=model, sub_agents=[inner])
""",
        [("transfer_to_agent", {"agent_name": "inner"})],
        None,
    ),
    "google_adk: agent as a tool": (
        "google_adk",
        """
from google.adk.tools import AgentTool

inner = agent.clone(update={"name": "inner"})
agent = LlmAgent(name="outer", instruction="Be right.", model=model, tools=[AgentTool(inner)])
""",
        [],
        ("inner", "request", {}),
    ),
    "claude_agent: subagent": (
        "claude_agent",
        """
from claude_agent_sdk import AgentDefinition
from dataclasses import replace

inner = AgentDefinition(description="Knows the weather.", prompt="Be right.")
agent = replace(agent, agents={"inner": inner}, tools=["Agent"], allowed_tools=["mcp__suite", "Agent"])
""",
        [],
        ("Agent", "prompt", {"description": "Weather", "subagent_type": "inner"}),
    ),
}
# Agents with what no adapter can stop before it runs, and what is said of it.
UNSTOPPABLE = {
    "openai_agents: hosted tool": (
        "openai_agents",
        "from agents import WebSearchTool\nagent = agent.clone(tools=[WebSearchTool()])",
        "the tool web_search",
    ),
    "openai_agents: hosted tool after a handoff": (
        "openai_agents",
        "from agents import WebSearchTool\n"
        "agent = agent.clone(handoffs=[agent.clone(name='inner', tools=[WebSearchTool()])])",
        "the agent 'inner' has the tool web_search",
    ),
    "openai_agents: agent as a tool": (
        "openai_agents",
        "agent = agent.clone(tools=[agent.as_tool('ask', 'Ask it.')])",
        "the agent 'weather' as a tool",
    ),
    "pydantic_ai: built-in tool": (
        "pydantic_ai",
        "from pydantic_ai.capabilities import NativeTool\n"
        "from pydantic_ai.native_tools import CodeExecutionTool\n"
        "from pydantic_ai.models.openai import OpenAIResponsesModel\n"
        "model = OpenAIResponsesModel('m', provider=OpenAIProvider(base_url=URL, api_key='none'))\n"
        "agent = Agent(model, capabilities=[NativeTool(CodeExecutionTool())])",
        "the built-in tool code_execution",
    ),
    "langgraph: node of its own": (
        "langgraph",
        "from langgraph.graph import MessagesState, StateGraph\n"
        "def act(state): return {}\n"
        "agent = StateGraph(MessagesState).add_node(act).set_entry_point('act').compile()",
        "the graph has no ToolNode",
    ),
    "langgraph: subgraph in a function": (
        "langgraph",
        "from langgraph.graph import MessagesState, StateGraph\n"
        "inner = agent\n"
        "def act(state): return inner.invoke(state)\n"
        "agent = StateGraph(MessagesState).add_node(act).set_entry_point('act').compile()",
        "the node 'act' calls a subgraph",
    ),
    "google_adk: code executor": (
        "google_adk",
        "from google.adk.code_executors import BuiltInCodeExecutor\n"
        "inner = agent.clone(update={'name': 'inner', 'code_executor': BuiltInCodeExecutor()})\n"
        "agent = agent.clone(update={'sub_agents': [inner]})",
        "the agent 'inner' runs code",
    ),
    "google_adk: hosted tool": (
        "google_adk",
        "from google.adk.tools import url_context\n"
        "agent = LlmAgent(name='weather', model='gemini-2.5-flash', tools=[url_context])",
        "the tool url_context",
    ),
    "google_adk: agent as a tool without plugins": (
        "google_adk",
        "from google.adk.tools import AgentTool\n"
        "agent = LlmAgent(name='outer', model=model, tools=[AgentTool(agent, include_plugins=False)])",
        "include_plugins=False",
    ),
}
_FORECAST = "from pydantic import BaseModel\nclass Forecast(BaseModel):\n    sky: str\n"


def module(
    library: str, url: str, *, form: bool | str = False, guards: bool | str = False, other: str = ""
) -> str:
    """The source of a module: the agent, as a model that runs no tools, and as one that does."""
    more = "".join(
        f"if {name!r} in globals():\n"
        f"    answer_{name} = {library}({name}{arguments})\n"
        f"    real_{name} = {library}({name}, run_tools=True{arguments})\n"
        for name, arguments in (("asking", ""), ("tripped", ""), ("limited", ", **limits"))
    )
    return (
        f"URL = {url!r}\n{_TOOLS}\n{AGENTS[library][1]}\n{other}\n"
        + (f"{_FORECAST}\n{FORMS[library] if form is True else form}\n" if form else "")
        + f"from pytest_tooleval.agents import {library}\n"
        + ("" if other else f"answer = {library}(agent)\n")
        + f"real = {library}(agent, run_tools=True)\n"
        + (f"{guards}\n{more}" if guards else "")
    )
