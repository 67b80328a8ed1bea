"""Access control: only requests with the token, from this server's own page.

Pages of other sites can make a browser send requests to 127.0.0.1 (DNS rebinding, forms, images), so
host, origin and cookie are checked on every request before anything else.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .responses import ApiError, error_response

_logger = logging.getLogger("pytest_tooleval.web")

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# Pages of other sites cannot send it without a preflight request, which is always denied.
OWN_HEADER = "x-tooleval"

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Access:
    """The secrets and host names of a server. Never shown or logged.

    `session` is the value of the cookie, other than the token, which gives any program access.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def hosts(self) -> tuple[str, ...]:
        names = ("127.0.0.1", "localhost", "[::1]")
        # Browsers leave out the default port.
        return names if self.port == 80 else tuple(f"{name}:{self.port}" for name in names)

    @property
    def cookie(self) -> str:
        """The cookie's name. Cookies ignore ports, so each server needs its own."""
        return f"tooleval-{self.port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def is_token(self, text: str) -> bool:
        return _equal(text, self.token)

    def has_cookie(self, headers: Headers) -> bool:
        return any(_equal(value, self.session) for value in _cookies(headers, self.cookie))


def _equal(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), secret.encode())


def _cookies(headers: Headers, name: str) -> list[str]:
    pairs = [part.partition("=") for line in headers.getlist("cookie") for part in line.split(";")]
    return [value.strip() for key, _, value in pairs if key.strip() == name]


class Guard:
    """ASGI middleware: refuses forbidden requests, and sets security headers on all responses.

    After an unexpected error the log gets the traceback, and the browser a message.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(raw=message["headers"])
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["method"], scope["path"])
            await self._app(scope, receive, send_guarded)
        except ApiError as error:
            await error_response(error)(scope, receive, send_guarded)
        except Exception as error:
            _logger.exception("%s %s failed", scope["method"], scope["path"])
            if not begun:
                name = type(error).__name__
                answer = error_response(ApiError(500, f"internal error of pytest-tooleval: {name}"))
                await answer(scope, receive, send_guarded)

    def _check(self, headers: Headers, method: str, path: str) -> None:
        hosts = headers.getlist("host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if host not in self._access.hosts:
            raise ApiError(403, f"Host: expected one of {', '.join(self._access.hosts)}")
        origins = headers.getlist("origin")
        allowed = [f"http://{host}"]
        if origins and [origin.lower() for origin in origins] != allowed:
            raise ApiError(403, f"Origin: expected {allowed[0]}")
        if path == "/api" or path.startswith("/api/"):
            self._check_api(headers, method, has_own_origin=bool(origins))

    def _check_api(self, headers: Headers, method: str, *, has_own_origin: bool) -> None:
        site = headers.get("sec-fetch-site")
        # `same-site` is another port of this machine, which SameSite=Strict allows.
        if site not in (None, "same-origin", "none"):
            raise ApiError(403, "Sec-Fetch-Site: expected same-origin")
        values = headers.getlist("authorization")
        if values:
            scheme, _, token = values[0].partition(" ")
            if len(values) > 1 or scheme.lower() != "bearer" or not self._access.is_token(token.strip()):
                raise ApiError(401, "Authorization: expected Bearer and the token that was printed")
            return
        if not self._access.has_cookie(headers):
            raise ApiError(
                401,
                "Authorization: missing; send Bearer and the token that `tooleval ui` printed, or open "
                "the printed address in a browser",
            )
        if method in SAFE_METHODS or has_own_origin or site == "same-origin" or OWN_HEADER in headers:
            return
        raise ApiError(403, f"Origin: expected with a cookie; or send the header {OWN_HEADER}")
