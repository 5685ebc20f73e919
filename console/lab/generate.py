"""The endpoints that generate: /generate, /v1/completions and /v1/chat/completions.

Answers have the keys and the order of 0.5.23's; the text is nobody's and says so.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from console.lab.request import Chunk, Request
from console.lab.service import Service
from console.lab.web import Answer, Call, Events, as_json

_USAGE_EXTRA = {"reasoning_tokens": 0}


def _refused(message: str) -> Answer:
    error = {"object": "error", "message": message, "type": "BadRequest", "param": None}
    return as_json(error | {"code": 400}, 400)


def _body(call: Call) -> dict[str, object] | None:
    try:
        body = json.loads(call.body)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and value > 0 else default


async def _whole(request: Request) -> Chunk:
    """Wait until a request is answered to its end; its last chunk."""
    while not (chunk := await request.chunks.get()).last:
        pass
    return chunk


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _spec(request: Request) -> dict[str, object]:
    proposed = 3 * request.verifies
    return {
        "spec_accept_rate": request.correct_drafts / proposed if proposed else 0.0,
        "spec_accept_length": len(request.ids) / request.verifies if request.verifies else 0.0,
        "spec_num_correct_drafts": request.correct_drafts,
        "spec_num_proposed_drafts": proposed,
        "spec_verify_ct": request.verifies,
        "spec_correct_drafts_histogram": request.accepted,
    }


def _reason(request: Request) -> dict[str, object] | None:
    if request.reason == "length":
        return {"type": "length", "length": len(request.ids)}
    return {"type": "stop", "matched": 163586} if request.reason else None


def _weights(request: Request) -> list[dict[str, object]]:
    return [{"version": "default", "start": 0, "end": len(request.ids)}]


def meta_info(
    request: Request, chunk: Chunk, *, speculative: bool, stream: bool, first: bool
) -> dict[str, object]:
    """The meta_info of /generate as it stood at one chunk."""
    cached = request.cached_tokens
    info: dict[str, object] = {
        "id": request.rid,
        "finish_reason": _reason(request) if chunk.last else None,
        "prompt_tokens": request.prompt_tokens,
        "weight_version": "default",
        "num_retractions": 0,
        "storage_prefetch_wait": 0.0,
        "storage_staging_wait": 0.0,
        "forward_entry_time": request.admitted,
        "prefill_finished_time": request.first,
        "queue_time": request.admitted - request.received,
        "reasoning_tokens": 0,
        "completion_tokens": chunk.tokens,
        "cached_tokens": cached,
    }
    if chunk.last:
        info["weight_versions"] = _weights(request)
    info["cached_tokens_details"] = {"device": cached, "host": 0} if cached else None
    info["dp_rank"] = None
    if chunk.last:
        return info | _finished(request, speculative=speculative, stream=stream)
    if first:
        info["response_sent_to_client_ts"] = request.first
    return info


def _finished(request: Request, *, speculative: bool, stream: bool) -> dict[str, object]:
    info: dict[str, object] = {"e2e_latency": request.finished - request.received}
    if speculative and request.verifies:
        info |= _spec(request)
    info["request_received_ts"] = request.received
    info["first_token_latency"] = request.first - request.received
    info["api_server_dispatch_finish_ts"] = request.received
    if stream:
        info["response_sent_to_client_ts"] = request.first
    info["request_finished_ts"] = request.finished
    decode_s = request.finished - request.first
    info["decode_throughput"] = (len(request.ids) - 1) / decode_s if decode_s else 0.0
    if not stream:
        info["response_sent_to_client_ts"] = request.finished
    return info


async def generate(service: Service, call: Call) -> Answer | Events:
    """The native API."""
    body = _body(call)
    text = None if body is None else body.get("text")
    if body is None or not isinstance(text, str):
        return _refused("The lab's /generate takes one text.")
    sampling = body.get("sampling_params")
    sampling = sampling if isinstance(sampling, dict) else {}
    request = Request(
        text,
        _number(sampling.get("max_new_tokens"), 128),
        bool(sampling.get("ignore_eos")),
        bool(body.get("stream")),
    )
    speculative = service.launch.speculative
    service.scheduler.submit(request)

    def shown(chunk: Chunk, *, first: bool) -> dict[str, object]:
        meta = meta_info(
            request, chunk, speculative=speculative, stream=request.streaming, first=first
        )
        text, ids = request.text[: chunk.end], request.ids[: chunk.tokens]
        return {"text": text, "output_ids": ids, "meta_info": meta}

    async def events() -> AsyncIterator[str]:
        first, last = True, False
        while not last:
            chunk = await request.chunks.get()
            yield _dump(shown(chunk, first=first))
            first, last = False, chunk.last
        yield "[DONE]"

    if request.streaming:
        return Events(events(), lambda: service.scheduler.abort(request))
    return as_json(shown(await _whole(request), first=True))


def _usage(request: Request, tokens: int) -> dict[str, object]:
    return {
        "prompt_tokens": request.prompt_tokens,
        "total_tokens": request.prompt_tokens + tokens,
        "completion_tokens": tokens,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
        "completion_tokens_details": None,
    }


def _choice(chat: bool, text: str, reason: str | None, *, stream: bool, first: bool) -> object:
    end = {"logprobs": None, "finish_reason": reason, "matched_stop": None}
    if not chat:
        return {"index": 0, "text": text} | end
    if stream:
        role = "assistant" if first else None
        delta = {"role": role, "content": text, "reasoning_content": None, "tool_calls": None}
        return {"index": 0, "delta": delta} | end
    message = {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}
    return {"index": 0, "message": message} | end


def _prompt(body: dict[str, object], chat: bool) -> str | None:
    if not chat:
        prompt = body.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        return prompt if isinstance(prompt, str) else None
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return None
    parts = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            return None
        parts.append(f"<|{message.get('role', 'user')}|>{message['content']}")
    return "".join(parts)


async def completions(service: Service, call: Call) -> Answer | Events:
    """Both OpenAI endpoints; usage only in a last chunk unless asked for in every one."""
    chat = call.path.endswith("chat/completions")
    body = _body(call)
    prompt = None if body is None else _prompt(body, chat)
    if body is None or prompt is None:
        return _refused("The lab takes one prompt, or messages with texts.")
    limit = _number(body.get("max_completion_tokens"), _number(body.get("max_tokens"), 128))
    streaming = bool(body.get("stream"))
    request = Request(prompt, limit, bool(body.get("ignore_eos")), streaming)
    service.scheduler.submit(request)
    kind = "chat.completion" if chat else "text_completion"
    head: dict[str, object] = {
        "id": request.rid,
        "object": kind + (".chunk" if chat and streaming else ""),
        "created": int(request.received),
        "model": body.get("model", "default"),
    }
    if streaming:
        # The real server answers no head before the first token.
        lines = _stream(request, await request.chunks.get(), head, body)
        return Events(lines, lambda: service.scheduler.abort(request))
    await _whole(request)
    choice = _choice(chat, request.text, request.reason, stream=False, first=True)
    metadata = {"weight_version": "default", "weight_versions": _weights(request)}
    usage = _usage(request, len(request.ids))
    return as_json(head | {"choices": [choice], "usage": usage, "metadata": metadata})


async def _stream(
    request: Request, chunk: Chunk, head: dict[str, object], body: dict[str, object]
) -> AsyncIterator[str]:
    options = body.get("stream_options")
    options = options if isinstance(options, dict) else {}
    chat = "messages" in body
    sent = 0
    while True:
        text, reason = request.text[sent : chunk.end], request.reason if chunk.last else None
        usage = _usage(request, chunk.tokens) if options.get("continuous_usage_stats") else None
        choice = _choice(chat, text, reason, stream=True, first=sent == 0)
        yield _dump(head | {"choices": [choice], "usage": usage})
        sent = chunk.end
        if chunk.last:
            break
        chunk = await request.chunks.get()
    if body.get("return_spec_tokens_details") and request.verifies:
        spec = _spec(request)
        details = {name: spec.pop(name) for name in ("spec_accept_rate", "spec_accept_length")}
        details |= {"spec_cap_length": 0.0, "spec_block_accept_length": 0.0}
        details |= spec | {"spec_cap_lens_histogram": []}
        sglext = {"spec_tokens_details": details}
        yield _dump(head | {"choices": [], "usage": None, "sglext": sglext})
    if options.get("include_usage"):
        counts = _usage(request, len(request.ids))
        usage = {k: counts[k] for k in ("prompt_tokens", "total_tokens", "completion_tokens")}
        yield _dump(head | {"choices": [], "usage": usage | _USAGE_EXTRA})
    yield "[DONE]"
