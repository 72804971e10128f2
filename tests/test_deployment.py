"""Files of a class server: lock, container, unit, proxy, settings."""

from __future__ import annotations

import configparser
import dataclasses
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from containerfile import read_recipe
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from streamlit import config

from graftviz.commands import COMMANDS
from graftviz.serving.limits import VARIABLE, Limits, read_limits
from tests.load.__main__ import AS_SERVED

ROOT = Path(__file__).resolve().parent.parent
SERVING = ROOT / "docs" / "serving"
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
CLASS_LIMITS = read_limits(SERVING / "limits.toml")
SETTINGS = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def locked() -> dict[str, tuple[str, int]]:
    """Return version and number of hashes of each entry of the lock file."""
    text = (SERVING / "requirements.lock").read_text(encoding="utf-8")
    entries = re.findall(
        r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", text, re.M
    )
    assert len(entries) == len(re.findall(r"^[^\s#]", text, re.M)), "nothing but pinned releases"
    return {canonicalize_name(n): (v, h.count("--hash")) for n, v, h in entries}


def test_lock_has_all_requirements() -> None:
    pinned = locked()
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert len(required) > 5
    for requirement in required:
        version, hashes = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"
        assert hashes
    assert {"starlette", "uvicorn", "llvmlite"} <= set(pinned), "indirect dependencies"


def test_lock_is_installed_and_audited() -> None:
    recipe = read_recipe()
    lock = "docs/serving/requirements.lock"
    installed = [step for step in recipe.all_of("RUN") if "pip install" in step]
    assert len(installed) == 1
    assert "--require-hashes" in installed[0]
    assert installed[0].endswith(f"-r {lock}")
    compiled = re.search(
        r"^#    (pip-compile .*)$", (ROOT / lock).read_text(encoding="utf-8"), re.M
    )
    assert compiled
    assert set(compiled[1].split()[1:]) <= set(PAGE.split())
    assert f"pip-audit --strict --require-hashes --disable-pip -r {lock}" in PAGE
    assert f"--require-hashes -r {lock}" in PAGE


def test_warm_up_command_of_container_exists() -> None:
    steps = " ".join(read_recipe().all_of("RUN"))
    assert re.findall(r"python -m graftviz ([\w-]+)", steps) == ["warm-up"]
    assert "warm-up" in COMMANDS


def test_size_limit_of_files_is_the_same_in_all_parts(unit: dict[str, list[str]]) -> None:
    assert SETTINGS["server"]["maxUploadSize"] == Limits().upload_memory == 100
    assert CLASS_LIMITS.upload_memory == 20
    assert CLASS_LIMITS.upload_memory <= CLASS_LIMITS.session_uploads < CLASS_LIMITS.server_uploads
    assert (
        dataclasses.replace(
            Limits(),
            upload_memory=CLASS_LIMITS.upload_memory,
            session_uploads=CLASS_LIMITS.session_uploads,
            server_uploads=CLASS_LIMITS.server_uploads,
        )
        == CLASS_LIMITS
    )
    recipe = read_recipe()
    option = f"--server.maxUploadSize {CLASS_LIMITS.upload_memory}"
    assert option in recipe.command
    assert option in unit["ExecStart"][0]
    assert recipe.environment[VARIABLE] == "docs/serving/limits.toml"
    assert f"{VARIABLE}={recipe.environment[VARIABLE]}" in unit["Environment"]


def test_load_test_uses_settings_of_server(unit: dict[str, list[str]]) -> None:
    start = r"^(.*?) \.venv/bin/python -m streamlit run app\.py .* 192"
    command = re.search(start, PAGE, re.MULTILINE)
    assert command
    by_command, by_unit = (
        dict(word.split("=", 1) for word in words.split())
        for words in (command[1], " ".join(unit["Environment"]))
    )
    assert by_command == AS_SERVED
    assert AS_SERVED.items() <= by_unit.items()
    assert AS_SERVED.items() <= read_recipe().environment.items()


def test_container_is_small_and_runs_as_unprivileged_user() -> None:
    recipe = read_recipe()
    assert re.fullmatch(r"docker\.io/library/python:3\.11-slim", recipe.all_of("FROM")[0])
    user = recipe.all_of("USER")
    assert len(user) == 1
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user[0])
    last_root_step = max(k for k, (name, _) in enumerate(recipe.steps) if name in ("RUN", "COPY"))
    assert recipe.steps.index(("USER", user[0])) > last_root_step
    assert {text.split()[0] for text in recipe.all_of("COPY")} == {
        *("docs/serving/requirements.lock", "app.py", "pages", "graftviz", "sample_data"),
        *(".streamlit", "docs/serving/limits.toml"),
    }
    assert not any(re.search("(?i)secret|token|password", text) for _, text in recipe.steps)
    assert "_stcore/health" in recipe.all_of("HEALTHCHECK")[0]
    assert "exec python -m streamlit" in recipe.command, "signals must reach the server"
    assert recipe.all_of("WORKDIR") == ["/opt/graftviz"]


def test_settings_are_known_to_streamlit_and_restrictive() -> None:
    known = set(config.get_config_options(force_reparse=False))
    flat = {
        f"{section}.{name}": value
        for section, values in SETTINGS.items()
        for name, value in values.items()
        if not isinstance(value, dict)
    }
    assert {name for name in flat if not name.startswith("theme.")} <= known
    for name, value in {
        "server.address": "127.0.0.1",
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.xsrfCookieSameSite": "strict",
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "server.scriptHealthCheckEnabled": False,
        "client.allowedOrigins": [],
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "browser.gatherUsageStats": False,
        "logger.hideWelcomeMessage": True,
    }.items():
        assert flat[name] == value
    assert flat["server.maxWidgetStateSize"] <= 10 < flat["server.maxMessageSize"] <= 50


def test_proxy_accepts_files_of_server_and_hides_its_version() -> None:
    site = (SERVING / "nginx.conf").read_text(encoding="utf-8")
    size = re.search(r"client_max_body_size (\d+)m;", site)
    assert size
    assert int(size[1]) == CLASS_LIMITS.upload_memory + 1, "room for the multipart frame"
    assert site.count("{") == site.count("}")
    for line in (
        *("listen 443 ssl http2;", "auth_basic $graftviz_realm;", "server_tokens off;"),
        *("ssl_protocols TLSv1.2 TLSv1.3;", "proxy_set_header Upgrade $http_upgrade;"),
        *("location = /_stcore/metrics { return 404; }", "proxy_pass http://127.0.0.1:8501;"),
        'proxy_set_header Authorization "";',
    ):
        assert line in site


@pytest.fixture(scope="module")
def unit() -> dict[str, list[str]]:
    """Values of the settings of the unit by name; a name may occur more than once."""
    found: dict[str, list[str]] = {}
    for line in (SERVING / "graftviz.service").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_unit_is_confined(unit: dict[str, list[str]]) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read(SERVING / "graftviz.service")
    assert parser.sections() == ["Unit", "Service", "Install"]
    for name in (
        "DynamicUser",
        "NoNewPrivileges",
        "PrivateTmp",
        "ProtectHome",
        "RestrictNamespaces",
    ):
        assert unit[name] == ["yes"]
    assert unit["ProtectSystem"] == ["strict"]
    assert unit["CapabilityBoundingSet"] == [""]
    assert (unit["IPAddressDeny"], unit["IPAddressAllow"]) == (["any"], ["localhost"])
    assert unit["MemoryMax"]
    assert unit["CPUWeight"]
    assert "MemoryDenyWriteExecute" not in unit, "the engine is compiled while it runs"
    assert "--server.address" not in unit["ExecStart"][0], "only the proxy is to reach it"
    assert f"/var/cache/{unit['CacheDirectory'][0]}" in unit["Environment"][0]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_unit_with_low_exposure_level(tmp_path: Path) -> None:
    text = (SERVING / "graftviz.service").read_text(encoding="utf-8")
    text = text.replace("/opt/graftviz/.venv/bin/python", sys.executable)
    path = tmp_path / "graftviz.service"
    path.write_text(text.replace("/opt/graftviz", str(ROOT)))
    checked = subprocess.run(
        ["systemd-analyze", "verify", path], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, [e for e in checked.stderr.splitlines() if path.name in e]) == (
        0,
        [],
    )
    rating = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", path],
        capture_output=True,
        text=True,
        check=False,
    )
    level = re.search(r"exposure level for graftviz.service: ([\d.]+)", rating.stdout)
    if level is None:
        pytest.skip("this systemd has no exposure level for units that are not installed")
    assert float(level[1]) < 2.0
