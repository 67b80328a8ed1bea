"""`/api/suites` and `/api/tool-eval/import`: suite files and their cases."""

from __future__ import annotations

import re
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor
from starlette.convertors import register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..mutation.score import mutate_suite
from ..mutation.text import mutation_problems
from ..suite.fingerprints import content_of_bytes
from ..suite.model import Suite
from ..suite.schema import suite_schema
from ..suite.source import Document
from .bodies import CaseContent
from .bodies import NewCase
from .bodies import NewSuite
from .bodies import SuiteContent
from .bodies import read_body
from .bodies import taking
from .responses import ApiError
from .responses import field_error
from .responses import json_response
from .responses import problem_dicts
from .suite_files import Examined
from .suite_files import SuiteFolder
from .suite_files import suite_to_text
from .suite_files import text_of
from .suite_paths import check_name

_ETAG = re.compile(r'"?([0-9a-f]{16})"?')


def _folder(request: Request) -> SuiteFolder:
    folder: SuiteFolder = request.app.state.folder
    return folder


def _file(request: Request) -> str:
    file: str = request.path_params["file"]
    check_name(file)
    return file


def _etag_header(etag: str) -> dict[str, str]:
    return {"ETag": f'"{etag}"'}


def _expected_etag(request: Request) -> str:
    """The etag in `If-Match`, required to change a file. ApiError 400 without one."""
    given = request.headers.get("if-match", "").strip()
    match = _ETAG.fullmatch(given)
    if match is None:
        message = "expected the etag of the text to change" + ("" if given else ", got none")
        raise field_error(400, "If-Match", message)
    return match[1]


def _new_text(body: SuiteContent, previous: Document | None = None) -> str:
    """The text of a body. Unchanged parts of the previous suite keep their formatting."""
    return suite_to_text(body.suite or {}, previous) if body.text is None else body.text


def _with_cases(document: Document, index: int, removed: int, *added: object) -> dict[str, Any]:
    """The suite's data with `removed` cases from `index` on replaced by others."""
    cases = list(document.data["test_cases"])
    cases[index : index + removed] = added
    return {**document.data, "test_cases": cases}


def _index_of(suite: Suite, id: str) -> int:
    """The index of a case; ApiError 404 if there is none with this id."""
    for index, case in enumerate(suite.test_cases):
        if case.id == id:
            return index
    raise ApiError(404, "id: the suite has no such case")


def list_suites(request: Request) -> Response:
    return json_response(_folder(request).summaries())


@taking(NewSuite)
def create_suite(request: Request, body: NewSuite) -> Response:
    return _create(_folder(request), body.file, _new_text(body))


async def import_suite(request: Request) -> Response:
    """The body is the suite. `curl -d @suite.json` sends it without line breaks, so it is formatted."""
    raw = await read_body(request)

    def create() -> Response:
        folder = _folder(request)
        _, document = folder.examine(raw, "").whole()
        return _create(folder, None, suite_to_text(document.data))

    return await run_in_threadpool(create)


def _create(folder: SuiteFolder, file: str | None, text: str) -> Response:
    if file is not None:
        check_name(file)
    examined = folder.examine(text, file or "", lint=True)
    suite, _ = examined.whole()
    file, etag = folder.create(file, suite.name, text.encode())
    return json_response(_written(file, etag, examined), 201, _etag_header(etag))


def _written(file: str, etag: str, examined: Examined) -> dict[str, Any]:
    return {"file": file, "etag": etag, "warnings": problem_dicts(examined.warnings)}


def show_suite(request: Request) -> Response:
    file = _file(request)
    content = _folder(request).read(file)
    examined = _folder(request).examine(content, file, lint=True)
    etag = content_of_bytes(content)
    shown = {
        "file": file,
        "etag": etag,
        "text": text_of(content),
        "suite": examined.document.data if examined.document else None,
        "ids": [case.id for case in examined.suite.test_cases] if examined.suite else [],
        "problems": problem_dicts(examined.problems),
        "warnings": problem_dicts(examined.warnings),
    }
    return json_response(shown, headers=_etag_header(etag))


@taking(SuiteContent)
def replace_suite(request: Request, body: SuiteContent) -> Response:
    folder, file, etag = _folder(request), _file(request), _expected_etag(request)
    before = folder.read_seen(file, etag)
    text = _new_text(body, folder.examine(before, file).document if body.suite is not None else None)
    return _replace(folder, file, etag, text)


def _replace(folder: SuiteFolder, file: str, etag: str, text: str) -> Response:
    examined = folder.examine(text, file, lint=True)
    examined.whole()
    new_etag = folder.replace(file, text.encode(), etag)
    return json_response(_written(file, new_etag, examined), headers=_etag_header(new_etag))


def delete_suite(request: Request) -> Response:
    _folder(request).delete(_file(request), _expected_etag(request))
    return Response(status_code=204)


@taking(SuiteContent)
def check_suite(request: Request, body: SuiteContent) -> Response:
    examined = _folder(request).examine(_new_text(body), _file(request), lint=True)
    found = {"problems": examined.problems, "warnings": examined.warnings}
    return json_response({name: problem_dicts(each) for name, each in found.items()})


def show_schema(request: Request) -> Response:
    """The JSON Schema of a suite, for completion in the editor."""
    return json_response(suite_schema())


def list_cases(request: Request) -> Response:
    file = _file(request)
    content = _folder(request).read(file)
    suite, document = _folder(request).examine(content, file).whole()
    cases = [
        {"id": case.id, "line": case.line, "case": data}
        for case, data in zip(suite.test_cases, document.data["test_cases"], strict=True)
    ]
    etag = content_of_bytes(content)
    return json_response({"etag": etag, "cases": cases}, headers=_etag_header(etag))


def show_mutation(request: Request) -> Response:
    """The mutation score of the saved file, and what lets wrong answers pass."""
    file = _file(request)
    folder = _folder(request)
    suite, _ = folder.examine(folder.read(file), file).whole()
    found = mutate_suite(suite, file)
    shown = {"score": found.score, "mutants": found.mutants, "survivors": found.survivors}
    return json_response({**shown, "gaps": problem_dicts(mutation_problems(suite, found))})


@taking(NewCase)
def create_case(request: Request, body: NewCase) -> Response:
    return _put_case(request, body.case, body.position, id=None)


@taking(CaseContent)
def replace_case(request: Request, body: CaseContent) -> Response:
    return _put_case(request, body.case, None, id=request.path_params["id"])


def _put_case(request: Request, case: dict[str, Any], position: int | None, id: str | None) -> Response:
    folder, file, etag = _folder(request), _file(request), _expected_etag(request)
    suite, document = folder.examine(folder.read_seen(file, etag), file).whole()
    count = len(suite.test_cases)
    index = _index_of(suite, id) if id is not None else count if position is None else position
    if index > count:
        raise field_error(422, "position", f"expected at most {count}, the number of cases")
    data = _with_cases(document, index, int(id is not None), case)
    text = suite_to_text(data, document)
    examined = folder.examine(text, file, lint=True)
    changed, _ = examined.whole()
    new_etag = folder.replace(file, text.encode(), etag)
    written = {
        "id": changed.test_cases[index].id,
        "etag": new_etag,
        "warnings": problem_dicts(examined.warnings),
    }
    return json_response(written, 201 if id is None else 200, _etag_header(new_etag))


def delete_case(request: Request) -> Response:
    folder, file, etag = _folder(request), _file(request), _expected_etag(request)
    suite, document = folder.examine(folder.read_seen(file, etag), file).whole()
    data = _with_cases(document, _index_of(suite, request.path_params["id"]), 1)
    return _replace(folder, file, etag, suite_to_text(data, document))


def refuse_name(request: Request) -> Response:
    """Answer addresses with an invalid suite name."""
    check_name(request.path_params["file"])
    raise field_error(404, "file", "no such address")


class _SuiteName(Convertor[str]):
    """A file name in an address, with slashes; the address can continue after it."""

    regex = r".+?\.tooleval\.json"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("suite", _SuiteName())

_ONE = "/api/suites/{file:suite}"
_ALL = ["GET", "POST", "PUT", "DELETE", "PATCH"]
ROUTES = [
    Route("/api/schema", show_schema, methods=["GET"]),
    Route("/api/suites", list_suites, methods=["GET"]),
    Route("/api/suites", create_suite, methods=["POST"]),
    Route("/api/tool-eval/import", import_suite, methods=["POST"]),
    Route(_ONE, show_suite, methods=["GET"]),
    Route(_ONE, replace_suite, methods=["PUT"]),
    Route(_ONE, delete_suite, methods=["DELETE"]),
    Route(_ONE + "/check", check_suite, methods=["POST"]),
    Route(_ONE + "/mutation", show_mutation, methods=["GET"]),
    Route(_ONE + "/cases", list_cases, methods=["GET"]),
    Route(_ONE + "/cases", create_case, methods=["POST"]),
    Route(_ONE + "/cases/{id:path}", replace_case, methods=["PUT"]),
    Route(_ONE + "/cases/{id:path}", delete_case, methods=["DELETE"]),
    Route("/api/suites/{file:path}", refuse_name, methods=_ALL),
]
