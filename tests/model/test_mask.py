"""Secrets: which names are secret, in which forms they are found, what is learned, what is not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.mask import MAX_LEARNED, Masks, is_secret_key
from console.model.text import clean, clean_lines

CASE = Path(__file__).parent / "cases" / "39-secrets-in-every-form"

SECRET_NAMES = """
    api_key apiKey APIKey apikey API_KEY api-key --api-key admin_api_key OPENAI_API_KEY x-api-key
    X-API-Key WANDB_API_KEY SECRET_KEY AWS_SECRET_ACCESS_KEY private_key encryption_key OPENAI_KEY
    api_keys API_KEY_2 HF_TOKEN hf-token --hf-token hfToken HUGGING_FACE_HUB_TOKEN access_token
    refresh_token GITHUB_TOKEN X-Amz-Security-Token token api_tokens AUTH_TOKEN csrf_token secret
    client_secret CLIENT_SECRET secrets password PASSWORD ssl_keyfile_password PGPASSWORD passwd
    db_passwd passphrase DB_PASS REDIS_PASS MYSQL_PWD credential credentials X-Amz-Credential
    GOOGLE_APPLICATION_CREDENTIALS Authorization authorization Proxy-Authorization Cookie
    X-Amz-Signature REDIS_AUTH config.api_key
""".split()  # noqa: SIM905

OPEN_NAMES = """
    key keys kv_cache_key cache_key public_key PUBLIC_KEY host_key primary_key sort_key routing_key
    watermark_key watermark_key_b missing_keys routing_keys_active keyfile ssl_keyfile KeyError
    monkey tokens max_tokens max_new_tokens num_tokens total_tokens completion_tokens prompt_tokens
    n_tokens max_total_num_tokens new-token cached-token pending-token eos_token bos_token pad_token
    next_token per_token inter_token token_usage token_usage_alert token_ids token_capacity
    tokenizer tokenizer_path tokenizer_mode TOKENIZERS_PARALLELISM input_token_logprobs detokenizer
    HF_TOKEN_PATH
    NCCL_PROTO NCCL_SECRET NCCL_P2P_LEVEL PWD OLDPWD forward_pass pass author signature secretary
    authorization_url "" 123 _ --
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_name_that_ends_in_a_secret_word_is_secret(name: str) -> None:
    assert is_secret_key(name)


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_counts_public_keys_and_mere_parts_of_words_are_open(name: str) -> None:
    assert not is_secret_key(name)


MASKED = [
    ("api_key=hush", "api_key=<masked>"),
    ("api_key = hush", "api_key = <masked>"),
    ("API_KEY_2=hush HF_TOKEN_12=hush", "API_KEY_2=<masked> HF_TOKEN_12=<masked>"),
    ("api_tokens=hush", "api_tokens=<masked>"),
    ("X-Amz-Credential=hush&b=1&sig=hush", "X-Amz-Credential=<masked>&b=1&sig=<masked>"),
    ("DB_PASS=hush MYSQL_PWD=hush", "DB_PASS=<masked> MYSQL_PWD=<masked>"),
    ("REDIS_AUTH=hush", "REDIS_AUTH=<masked>"),
    ("ENV HF_TOKEN 7hush-hush", "ENV HF_TOKEN <masked>"),
    ("setenv OPENAI_API_KEY hush1234", "setenv OPENAI_API_KEY <masked>"),
    ("HUGGING_FACE_HUB_TOKEN\thush12345", "HUGGING_FACE_HUB_TOKEN\t<masked>"),
    ("curl -s -u me:hush http://x", "curl -s -u me:<masked> http://x"),
    ("curl --user 'me:hush' http://x", "curl --user 'me:<masked>' http://x"),
    (f"npm_{'aB3' * 12}", "<masked>"),
    (f"from pypi-{'aB3-' * 12}x", "from <masked>"),
    (f"r8_{'aB3' * 12},", "<masked>,"),
    ("credential=hush cookie=hush", "credential=<masked> cookie=<masked>"),
    ("got nvapi-abcdefgh1234 glpat-abcdefgh1234", "got <masked> <masked>"),
    ("api_key='two words'", "api_key='<masked>'"),
    ('{"api_key":"hush","port":1}', '{"api_key":"<masked>","port":1}'),
    ('{"api_key": 12345, "a": 1}', '{"api_key": <masked>, "a": 1}'),
    (r'{"a": "{\"api_key\": \"hush\"}"}', r'{"a": "{\"api_key\": \"<masked>\"}"}'),
    (r"api_key='it\'s', port=1", "api_key='<masked>', port=1"),
    ("{'api_key': ['one', 'two']}", "{'api_key': ['<masked>', '<masked>']}"),
    ("api_key=SecretStr('hush')", "api_key=SecretStr('<masked>')"),
    ("b'api_key': b'hush'", "b'api_key': b'<masked>'"),
    ("os.environ['HF_TOKEN'] = 'hush'", "os.environ['HF_TOKEN'] = '<masked>'"),
    ("run --api-key hush --port 1", "run --api-key <masked> --port 1"),
    ("run --api-key=hush --port 1", "run --api-key=<masked> --port 1"),
    ("['--api-key', 'hush', '--port']", "['--api-key', '<masked>', '--port']"),
    ("--hf-token X", "--hf-token <masked>"),
    ("--api-key\0hush\0--port", "--api-key<NUL><masked><NUL>--port"),
    ("HF_TOKEN=hush\0PATH=/bin", "HF_TOKEN=<masked><NUL>PATH=/bin"),
    ('{"cmd":"run --api-key hush","b":1}', '{"cmd":"run --api-key <masked>","b":1}'),
    ("Authorization: Bearer hush", "Authorization: Bearer <masked>"),
    ("authorization: bearer hush", "authorization: bearer <masked>"),
    ("Proxy-Authorization: Basic dXNlcg==", "Proxy-Authorization: Basic <masked>"),
    ("curl -H 'Authorization: Bearer hush' /x", "curl -H 'Authorization: Bearer <masked>' /x"),
    ("sent BEARER hush1234 to it", "sent BEARER <masked> to it"),
    ("GET /v1?api_key=hush&n=1 HTTP/1.1", "GET /v1?api_key=<masked>&n=1 HTTP/1.1"),
    ("back#access_token=hush", "back#access_token=<masked>"),
    ("go%3Fapi_key%3Dhush", "go%3Fapi_key%3D<masked>"),
    ("https://user:hush@host/x", "https://user:<masked>@host/x"),
    ("https://user:p@ss@host/x", "https://user:<masked>@host/x"),
    ("redis://:hush@host:6379/0", "redis://:<masked>@host:6379/0"),
    ("password=p)w,x rest", "password=<masked> rest"),
    ("password: hush", "password: <masked>"),
    ("API key: hush", "API key: <masked>"),
    ("password='never ends", "password='<masked>"),
    ("api_key=hush, max_tokens=5", "api_key=<masked>, max_tokens=5"),
    ("api_key=hush,max_tokens=5", "api_key=<masked>,max_tokens=5"),
    ("(api_key=hush)", "(api_key=<masked>)"),
    ("got hf_abcDEFghi123 here", "got <masked> here"),
    ("got sk-abcdefgh1234 here", "got <masked> here"),
    ("got sk_live_12345678 here", "got <masked> here"),
    ("got AKIAABCDEFGHIJKLMNOP here", "got <masked> here"),
    ("got ghp_abcdefgh1234 here", "got <masked> here"),
    ("got github_pat_abcdef_1234 here", "got <masked> here"),
    ("got xoxb-1234-5678-ab here", "got <masked> here"),
    ("got eyJhbGci.eyJzdWI.c2ln here", "got <masked> here"),
    ("-----BEGIN RSA PRIVATE KEY-----", "<masked>"),
    ("-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY----- x", "<masked> x"),
    ("api_key=\x1b[31mse\x1b[1mcret\x1b[0m x", "api_key=\x1b[31m<masked>\x1b[1m\x1b[0m x"),
    ("\x1b[31mapi\x1b[0m_key=hush", "\x1b[31mapi\x1b[0m_key=<masked>"),
    ("api_key=sec\x1b[2Kret x", "api_key=<masked> x"),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_no_secret_name_escapes_the_first_look(name: str) -> None:
    quoted = f"x {{'{name}': 'hush'}}"
    assert clean_lines([quoted.encode()], Masks()) == [quoted.replace("hush", "<masked>")]
    assert clean_lines([f"{name}=hush".encode()], Masks()) == [f"{name}=<masked>"]


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_a_secret_is_masked_in_every_form(text: str, expected: str) -> None:
    masks = Masks()
    assert clean(text, masks) == expected
    assert clean_lines([text.encode()], Masks()) == [expected]


OPEN = [
    "HF_TOKEN is required, see HF_TOKEN documentation",
    "HF_TOKEN /run/secrets/hf-0",
    "API_KEY environment-variable missing",
    "EOS_TOKEN 128009,128001",
    "docker run -u 1000:1000 img",
    "python -u x:y",
    "Decode batch, #running-req: 1, #token: 300, token usage: 0.00, gen throughput (token/s): 1.5",
    "Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 0",
    "sampling_params={'max_new_tokens': 500}, tokenizer_path='/models/a', tokenizer_mode='auto'",
    "max_total_num_tokens=902144, input_token_logprobs=[1, 2], key=value, 'key': 'v'",
    "eos_token='<|im_end|>', n_tokens =   2048, token_usage_alert=0.95",
    "api_key=None, admin_api_key=null, hf_token=True, secret=False",
    "api_key='', password=\"\"",
    "HF_TOKEN= python3 serve.py",
    "hf_overrides={}, hf_quant_config=None, task-specific, disk-12345678",
    "Bearer token is missing",
    "token: word, secret: not found",
    "http://10.0.0.1:8000/a@b ssh://git@host/x user@host",
    "public_key=abcdefgh NCCL_PROTO=LL",
]


@pytest.mark.parametrize("text", OPEN)
def test_text_that_only_sounds_like_a_secret_stays(text: str) -> None:
    assert clean(text, Masks()) == text


def test_the_recorded_log_keeps_its_promises() -> None:
    expected = tomllib.loads(
        CASE.with_suffix(".expect.md").read_text().split("```toml\n")[1].split("```")[0]
    )
    raws = CASE.with_suffix(".txt").read_bytes().splitlines()
    lines = clean_lines(raws, Masks())
    text = "\n".join(lines)
    assert [secret for secret in expected["must_not_appear"] if secret in text] == []
    assert [word for word in expected["must_appear"] if word not in text] == []
    decode = next(raw for raw in raws if b"Decode batch" in raw)
    assert decode.decode() in lines


def test_a_key_of_the_log_is_masked_bare_afterwards() -> None:
    masks = Masks()
    for raw in CASE.with_suffix(".txt").read_bytes().splitlines():
        clean(raw, masks)
    for bare in (
        "plover pass",
        "plover%20pass",
        "DOVE sk-DOVE-0001",
        "0123456789abcdef0123456789abcdef01234567",
    ):
        assert "<masked>" in clean(f"seen {bare} again", masks)


@pytest.mark.parametrize(
    "line",
    [
        "server_args=ServerArgs(model_path='/m', api_key='wren-key-1', port=1)",
        "server_args={'model_path': '/m', 'api_key': 'wren-key-1', 'port': 1}",
        '{"model_path":"/m","api_key":"wren-key-1","port":1}',
        '{"launch_command": "python -m sglang.launch_server --api-key wren-key-1 --port 1"}',
        "GET /health?api_key=wren-key-1&x=1",
        "export SERVER_API_KEY=wren-key-1",
        "curl http://ops:wren-key-1@host/",
        "Authorization: Bearer wren-key-1",
    ],
)
def test_a_value_seen_under_its_name_is_masked_bare_from_then_on(line: str) -> None:
    masks = Masks()
    assert "wren-key-1" not in clean(line, masks)
    assert clean("use wren-key-1 now", masks) == "use <masked> now"


@pytest.mark.parametrize("value", ["short", "12345678901", "0.000012345", "1e10", "-12345678", ""])
def test_numbers_and_short_values_are_never_learned(value: str) -> None:
    masks = Masks()
    masks.learn(value)
    clean(f"api_key='{value}'", masks)
    assert masks.forms == ()


@pytest.mark.parametrize(
    "line", ["password: incorrect", "token='generated'", "HF_TOKEN=$OTHER_NAME"]
)
def test_words_of_ordinary_text_are_not_learned(line: str) -> None:
    masks = Masks()
    clean(line, masks)
    assert masks.forms == ()


def test_a_huge_value_is_masked_but_not_kept() -> None:
    masks = Masks()
    assert clean(f"api_key='{'wren' * 5000}' x", masks) == "api_key='<masked>' x"
    assert masks.forms == ()


def test_only_a_secret_pair_is_learned() -> None:
    masks = Masks()
    masks.learn_pair("MODEL_PATH", "/models/halcyon")
    masks.learn_pair("HF_TOKEN", "None")
    assert masks.forms == ()
    masks.learn_pair("Authorization", "Bearer wren-key-1")
    assert masks.mask("x wren-key-1 y Bearer") == "x <masked> y Bearer"


def test_overlapping_values_leave_no_rest() -> None:
    masks = Masks()
    masks.learn("abcdef-1234")
    masks.learn("abcdef-1234-5678")
    masks.learn("1234-5678-90ab")
    assert masks.mask("(abcdef-1234-5678) (abcdef-1234-5678-90ab) abcdef-1234!") == (
        "(<masked>) (<masked>) <masked>!"
    )


def test_a_file_of_a_key_is_learned_line_by_line() -> None:
    masks = Masks()
    masks.learn("-----BEGIN X-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n")
    assert masks.mask("kqhkiG9w0BAQEF MIIEvQIBADANBg") == "<masked> <masked>"


def test_what_was_given_stays_though_the_log_names_many_secrets() -> None:
    masks = Masks()
    masks.learn("given-by-operator")
    for number in range(MAX_LEARNED + 50):
        clean(f"api_key=seen-value-{number}-x", masks)
    assert masks.mask("given-by-operator") == "<masked>"
    assert masks.mask("seen-value-3-x") == "seen-value-3-x"
    assert masks.mask(f"seen-value-{MAX_LEARNED + 49}-x") == "<masked>"


def test_a_line_learned_from_masks_the_lines_after_it_in_the_same_batch() -> None:
    raws = [b"wren-key-1 early", b"api_key=wren-key-1", b"fine", b"wren-key-1 late", b"end"]
    assert clean_lines(raws, Masks()) == [
        "wren-key-1 early", "api_key=<masked>", "fine", "<masked> late", "end",
    ]  # fmt: skip


def test_a_flood_of_names_is_masked_as_a_whole() -> None:
    assert clean("api_key=a " * 30_000, Masks()) == "<masked>"


SECRETS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x24F, blacklist_categories=("Cc", "Cf", "Zs")),
    min_size=8,
    max_size=30,
).filter(lambda value: any(letter.isalpha() for letter in value) and "mask" not in value)


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_a_learned_secret_never_survives(secret: str, before: str, after: str) -> None:
    masks = Masks()
    masks.learn(secret)
    for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
        text = before + form + after
        shown = clean(text, masks)
        assert secret not in shown
        assert (
            clean_lines([text.replace("\n", " ").encode("utf-8", "replace")], masks)[0].count(
                secret
            )
            == 0
        )
