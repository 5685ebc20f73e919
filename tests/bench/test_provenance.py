"""The severity table row by row, and what is kept, hidden, unset and unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.bench.provenance import (
    Circumstances,
    Difference,
    Group,
    Severity,
    Unread,
    Unset,
    Value,
    allowed_environment,
    decode,
    differences,
    encode,
    rules,
)

EXPECTED, WARN, INVALIDATES = Severity.EXPECTED, Severity.WARN, Severity.INVALIDATES

READ = {"args": Group({}), "env": Group({}), "gpu": Group({"uuids": "GPU-1"})}

ROWS = [
    (EXPECTED, "args", "speculative_algorithm speculative_num_steps speculative_draft_model_path"),
    (EXPECTED, "args", "port max_total_num_tokens kv_pool_tokens launch_command"),
    (EXPECTED, "model", "draft_path draft_revision"),
    (EXPECTED, "launch", "port pid start_time"),
    (EXPECTED, "env", "SGLANG_RUN_ID"),
    (WARN, "args", "mem_fraction_static max_running_requests cuda_graph_max_bs"),
    (INVALIDATES, "host", "name"),
    (INVALIDATES, "gpu", "uuids names count mig_mode ecc_mode power_limit_w"),
    (INVALIDATES, "gpu", "application_clocks busy_tenants"),
    (INVALIDATES, "args", "tp_size pp_size dp_size ep_size"),
    (INVALIDATES, "env", "NCCL_PROTO NCCL_ALGO NCCL_P2P_LEVEL NCCL_MADE_UP CUDA_VISIBLE_DEVICES"),
    (INVALIDATES, "env", "CUDA_DEVICE_MAX_CONNECTIONS"),
    (INVALIDATES, "conf", "/etc/nccl.conf ~/.nccl.conf"),
    (INVALIDATES, "args", "disable_custom_all_reduce enable_nccl_nvls enable_symm_mem"),
    (INVALIDATES, "model", "revision dtype quantization kv_cache_dtype chat_template_hash"),
    (INVALIDATES, "model", "path name config_hash tokenizer_hash index_hash file_hash"),
    (INVALIDATES, "versions", "sglang vllm torch cuda nccl driver flashinfer_python sgl_kernel"),
    (INVALIDATES, "versions", "engine libnccl packages triton transformers"),
    (INVALIDATES, "args", "attention_backend sampling_backend decode_attention_backend"),
    (INVALIDATES, "args", "disable_cuda_graph enable_torch_compile disable_overlap_schedule"),
    (INVALIDATES, "load", "pcie_gen pcie_width nvlink_links"),
    (INVALIDATES, "load", "hw_slowdown hw_thermal power_brake"),
    (INVALIDATES, "topology", "matrix p2p"),
    (INVALIDATES, "launch", "image_digest"),
    (INVALIDATES, "request", "max_tokens ignore_eos temperature prompt_hash prompt_set depth"),
    (INVALIDATES, "request", "chat_template concurrency"),
    (INVALIDATES, "client", "path place"),
    (WARN, "host", "boot_id kernel bios cpu_governor load_average numa affinity"),
    (WARN, "host", "transparent_hugepage"),
    (WARN, "launch", "launch_id"),
    (
        WARN,
        "gpu",
        "vbios persistence_mode ecc_errors_uncorrected remapped_rows idle_tenants",
    ),
    (WARN, "load", "sw_power_cap clock_setting"),
    (WARN, "versions", "client"),
    (WARN, "env", "NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE OMP_NUM_THREADS LD_PRELOAD"),
    (WARN, "env", "VLLM_ATTENTION_BACKEND SGLANG_USE_AITER TORCH_CUDA_ARCH_LIST"),
    (WARN, "args", "log_level"),
    (WARN, "anything", "new"),
]


def compared(group: str, ours: Group, theirs: Group) -> tuple[Difference, ...]:
    return differences(Circumstances({**READ, group: ours}), Circumstances({**READ, group: theirs}))


def one(group: str, key: str, ours: Value, theirs: Value) -> Difference:
    (only,) = compared(group, Group({key: ours}), Group({key: theirs}))
    return only


CASES = [(severity, group, key) for severity, group, keys in ROWS for key in keys.split()]


@pytest.mark.parametrize(("severity", "group", "key"), CASES)
def test_the_table_row_by_row(severity: Severity, group: str, key: str) -> None:
    found = one(group, key, "1", "900")
    assert (found.severity, found.group, found.key) == (severity, group, key)
    assert found.why


@pytest.mark.parametrize(("group", "key"), [case[1:] for case in CASES])
def test_equal_is_no_difference(group: str, key: str) -> None:
    assert compared(group, Group({key: "1"}), Group({key: "1"})) == ()


def test_each_rule_is_reached_by_some_row() -> None:
    """A rule that an earlier one hides, or that no row tests, would be dead."""
    hit = set()
    for _, group, key in CASES:
        hit.add(next((i for i, rule in enumerate(rules()) if rule.names(group, key)), None))
    untested = [rule for i, rule in enumerate(rules()) if i not in hit]
    assert {(rule.group, rule.keys[0]) for rule in untested} == {
        ("launch", "taken_utc"),
        ("args", "dtype"),
        ("versions", "python"),
        ("client", "*"),
    }


@pytest.mark.parametrize(
    ("group", "key", "severity"),
    [
        ("args", "dtype", INVALIDATES),
        ("versions", "python", WARN),
        ("client", "python", WARN),
    ],
)
def test_the_rest_of_the_table(group: str, key: str, severity: Severity) -> None:
    assert one(group, key, "a", "b").severity is severity


LOST = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}


def test_the_six_lost_variables_are_all_named() -> None:
    found = compared("env", Group(dict(LOST)), Group({}))
    assert {difference.key for difference in found} == set(LOST)
    assert all(difference.severity is INVALIDATES for difference in found)
    texts = [difference.text() for difference in found]
    assert "NCCL_P2P_LEVEL differs (baseline SYS, speculative unset)" in texts


def test_unset_and_empty_are_not_the_same() -> None:
    assert one("env", "NCCL_ALGO", Unset(), "").severity is INVALIDATES
    assert compared("env", Group({"NCCL_ALGO": Unset()}), Group({})) == ()


@pytest.mark.parametrize(
    ("group", "key", "severity"),
    [
        ("env", "NCCL_ALGO", INVALIDATES),
        ("args", "anything", INVALIDATES),
        ("gpu", "uuids", INVALIDATES),
        ("gpu", "vbios", WARN),
        ("env", "NCCL_DEBUG", WARN),
        ("versions", "torch", WARN),
        ("model", "revision", WARN),
        ("args", "speculative_num_steps", EXPECTED),
    ],
)
@pytest.mark.parametrize("both", [False, True])
def test_unknown_is_a_class_of_its_own(
    group: str, key: str, severity: Severity, both: bool
) -> None:
    unread = Unread("permission denied")
    found = one(group, key, unread, unread if both else "1")
    assert found.severity is severity
    assert "is unknown (baseline unread: permission denied" in found.text()


def test_an_environment_that_could_not_be_read_is_never_taken_for_empty() -> None:
    zeroed = Group({}, unread="zeroed by the server")
    found = compared("env", zeroed, Group({}))
    assert [(d.key, d.severity) for d in found] == [("NCCL_*", INVALIDATES)]
    found = compared("env", zeroed, Group({"LD_PRELOAD": "x.so"}))
    assert [(d.key, d.severity) for d in found] == [("NCCL_*", INVALIDATES), ("LD_PRELOAD", WARN)]


def test_nothing_taken_is_nothing_comparable() -> None:
    found = differences(Circumstances(), Circumstances())
    assert [(d.group, d.severity) for d in found] == [
        ("args", INVALIDATES),
        ("env", INVALIDATES),
        ("gpu", INVALIDATES),
    ]


def test_no_gpu_and_no_libnccl_are_values() -> None:
    assert compared("gpu", Group({"uuids": "no GPU"}), Group({"uuids": "no GPU"})) == ()
    assert one("versions", "nccl", "no libnccl mapped", "2.27.7").severity is INVALIDATES


@pytest.mark.parametrize("key", ["hw_slowdown", "hw_thermal", "power_brake"])
def test_a_held_back_gpu_counts_even_in_both_arms(key: str) -> None:
    found = one("load", key, "active", "active")
    assert found.severity is INVALIDATES
    assert "holds in both arms" in found.text()
    assert compared("load", Group({key: "no"}), Group({key: "no"})) == ()


@pytest.mark.parametrize(
    ("group", "key", "ours", "near", "far"),
    [
        ("load", "temperature", "45", "50", "51"),
        ("load", "sm_clock", "2400", "2360", "2300"),
        (
            "launch",
            "taken_utc",
            "2026-02-24T03:00:00",
            "2026-02-24T04:00:00",
            "2026-02-24T04:01:00",
        ),
    ],
)
def test_readings_that_are_never_equal_twice(
    group: str, key: str, ours: str, near: str, far: str
) -> None:
    assert compared(group, Group({key: ours}), Group({key: near})) == ()
    assert one(group, key, ours, far).severity is WARN
    assert one(group, key, ours, "garbled").severity is WARN


def test_two_probes_are_compared_in_what_both_read() -> None:
    old = Circumstances({**READ, "gpu": Group({"uuids": "GPU-1"})}, probe=1)
    new = Circumstances({**READ, "gpu": Group({"uuids": "GPU-1", "vbios": "9"})}, probe=2)
    assert differences(old, new) == ()
    lost = Circumstances({**READ, "env": Group({"NCCL_ALGO": "Ring"})}, probe=2)
    assert [d.key for d in differences(old, lost)] == ["NCCL_ALGO"]


def test_the_gravest_difference_comes_first() -> None:
    ours = Circumstances(
        {**READ, "env": Group({"NCCL_ALGO": "Ring"}), "host": Group({"boot_id": "a"})}
    )
    theirs = Circumstances({**READ, "host": Group({"boot_id": "b"})})
    assert [d.key for d in differences(ours, theirs)] == ["NCCL_ALGO", "boot_id"]


def test_what_is_kept_of_an_environment() -> None:
    environ = {
        "NCCL_ALGO": "Ring",
        "HF_TOKEN": "x",
        "SGLANG_API_KEY": "x",
        "VLLM_API_KEY": "x",
        "HOME": "/root",
        "LD_PRELOAD": "a.so",
        "NCCL_TOKENIZER": "fine",
    }
    kept = allowed_environment(environ)
    assert kept == {"NCCL_ALGO": "Ring", "LD_PRELOAD": "a.so", "NCCL_TOKENIZER": "fine"}


def test_a_hash_tells_values_apart_but_not_their_order() -> None:
    one_way, other_way = Group({"a": "1", "b": "2"}), Group({"b": "2", "a": "1"})
    assert one_way.digest() == other_way.digest()
    seen = [Group({"a": "-"}), Group({"a": Unset()}), Group({"a": Unread("")}), Group({})]
    assert len({group.digest() for group in seen}) == 4


@given(st.one_of(st.text(), st.builds(Unset), st.builds(Unread, st.text())))
def test_values_survive_their_spelling(value: Value) -> None:
    assert decode(encode(value)) == value


def test_another_spelling_is_refused() -> None:
    with pytest.raises(ValueError, match="no value of a circumstance"):
        decode("Ring")
