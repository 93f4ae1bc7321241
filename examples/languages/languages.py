"""How the consumer of each language is built and called."""

import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
# Debian's libpostgresql-jdbc-java.
JDBC = os.environ.get("JDBC_JAR", "/usr/share/java/postgresql.jar")


@dataclass(frozen=True)
class Language:
    """``build`` gets a folder for what it makes, and returns the words that start a consumer.

    ``behind_pooler``: parameters of its URL by which it prepares no statements; {name} is the consumer's.
    """

    build: Callable[[pathlib.Path], list]
    behind_pooler: str = ""
    claims: bool = True


def build_go(folder):
    go = shutil.which("go") or "/usr/local/go/bin/go"
    program = str(folder / "consume")
    subprocess.run([go, "build", "-C", str(HERE / "go"), "-o", program, "."], check=True)
    return [program]


def build_java(folder):
    subprocess.run(["javac", "-d", str(folder), str(HERE / "java/Consume.java")], check=True)
    return ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}:{JDBC}", "Consume"]


LANGUAGES = {
    "go": Language(build_go, "&default_query_exec_mode=exec"),
    "java": Language(build_java, "&prepareThreshold=0&ApplicationName={name}"),
    "node": Language(lambda folder: ["node", "node/consume.js"]),
    "psql": Language(lambda folder: ["psql/consume"]),
    "python": Language(lambda folder: [sys.executable, "python/consume.py"]),
    "without-claims": Language(lambda folder: [sys.executable, "python/without_claims.py"], claims=False),
}
