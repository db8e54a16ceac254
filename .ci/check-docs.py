#!/usr/bin/env python3
"""Compiles every Swift block of README.md, docs/*.md and docs/internals/*.md against the package.

usage: check-docs.py [--sqlite] [FILE.md ...]        (default: all of these)

With --sqlite, compiles the blocks that import DispatchStorePersistence, and no others: they need the traits SQLite
and PostgreSQL and their C libraries, and so another build of the library.

A block is a whole file: it has its imports, and may have statements at its top level. One that begins
with `// swift-tools-version` is a manifest, and is evaluated as one. Other languages of blocks are
sh, text, json and mermaid; a block without a language, or any other, is an error, so that none escapes.
Each block becomes a target of a package generated in .build-docs, with warnings as errors. It is built where
the package itself is, so that both use one build of the library. Errors point to the line in the Markdown
file. Text that a merge may have left is an error, too.

The blocks of docs/Recipes.md need other packages. They are not compiled here: each is code of docs/Examples/Shop as it
stands there, which that package compiles.

A text or mermaid block after the words "It prints:" is what the Swift block before it prints, which is run; other
blocks are compiled and linked only.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SQLITE = "--sqlite" in sys.argv[1:]
OUTPUT = ROOT / (".build-docs-sqlite" if SQLITE else ".build-docs")
SCRATCH = ROOT / (".build-sqlite" if SQLITE else ".build")
NOT_COMPILED = {"sh", "text", "json", "mermaid"}
RECIPES = ROOT / "docs/Recipes.md"
RECIPE_SOURCES = ("Sources/Recipes", "Tests/RecipesTests")
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")


def blocks(path):
    """Yields (language, first line, text, the line before it with words) of each fenced block."""
    fence, before = None, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        match = FENCE.match(line)
        if fence is None:
            if match:
                fence, indent = match["fence"], len(match["indent"])
                language, start, lines = match["info"].strip(), number + 1, []
            elif line.strip():
                before = line.strip()
        elif match and match["fence"].startswith(fence) and not match["info"].strip():
            yield language, start, "\n".join(lines) + "\n", before
            fence = None
        else:
            lines.append(line[indent:] if line[:indent].isspace() else line)
    if fence is not None:
        sys.exit(f"{path}:{start - 1}: error: this block is not closed")


def leftovers(path):
    """Yields (line, message) of text that a merge may have left: markers, and what stands there twice."""
    seen, fenced = {}, False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if re.match(r"^(<{7}|={7}|>{7}|\|{7})( |$)", line):
            yield number, "a merge has left this line"
        if FENCE.match(line):
            fenced = not fenced
        if fenced or not (line.startswith("#") or len(line) > 60):
            continue
        if line in seen:
            yield number, f"this is line {seen[line]} once more"
        seen[line] = number


def is_recipe(text):
    """Whether a block is code of the package that compiles the recipes."""
    folders = (ROOT / "docs/Examples/Shop" / folder for folder in RECIPE_SOURCES)
    files = (file for folder in folders for file in folder.glob("*.swift"))
    return any("\n" + text in "\n" + file.read_text(encoding="utf-8") for file in files)


def write(path, text):
    """Leaves a file as it is where it says the same, so that it is not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def manifest(targets):
    lines = "".join(
        f'    .executableTarget(name: "{name}", dependencies: library, swiftSettings: strict),\n'
        for name in targets)
    return f"""// swift-tools-version: 6.3
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let library: [Target.Dependency] = [
  .product(name: "DispatchStore", package: "DispatchStore"),
  .product(name: "{'DispatchStorePersistence' if SQLITE else 'DispatchStoreTesting'}", package: "DispatchStore"),
]
let package = Package(
  name: "Docs",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "DispatchStore", path: ".."{', traits: ["SQLite", "PostgreSQL"]' if SQLITE else ''})],
  targets: [
{lines}  ],
  swiftLanguageModes: [.v6]
)
"""


def check_manifest(name, shown, start, text):
    """Evaluates a block that is a manifest; its dependencies are not fetched."""
    folder = OUTPUT / "Manifests" / name
    write(folder / "Package.swift", text)
    run = subprocess.run(
        ["swift", "package", "dump-package", "--package-path", str(folder)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        print(f"{shown}:{start}: error: this manifest can't be evaluated\n{run.stderr}")
    return run.returncode == 0


def runs(name, place, expected):
    """Whether a program prints what its page says."""
    program = SCRATCH / "debug" / name
    try:
        run = subprocess.run(
            [str(program)], stdin=subprocess.DEVNULL, cwd=OUTPUT, capture_output=True, text=True,
            timeout=60)
    except subprocess.TimeoutExpired:
        print(f"{place}: error: the program before this block does not end")
        return False
    if run.returncode == 0 and run.stdout == expected:
        return True
    print(f"{place}: error: the program before this block ended with {run.returncode}, and printed")
    print(run.stdout + run.stderr)
    return False


def main():
    paths = [pathlib.Path(name).resolve() for name in sys.argv[1:] if name != "--sqlite"]
    pages = (page for folder in ("docs", "docs/internals") for page in sorted((ROOT / folder).glob("*.md")))
    paths = paths or [ROOT / "README.md", *pages]
    targets, printed, manifests, recipes, succeeded = {}, {}, 0, 0, True
    for path in paths:
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for line, message in leftovers(path):
            print(f"{shown}:{line}: error: {message}")
            succeeded = False
        for language, start, text, before in blocks(path):
            name = re.sub(r"\W", "_", f"{path.stem}_line{start}")
            if language == "swift" and path == RECIPES:
                recipes += 1
                if not is_recipe(text):
                    print(f"{shown}:{start}: error: this is not code of docs/Examples/Shop, as it stands there")
                    succeeded = False
            elif language == "swift" and text.startswith("// swift-tools-version"):
                manifests += 1
                succeeded &= check_manifest(name, shown, start, text)
            elif language == "swift" and SQLITE != ("import DispatchStorePersistence" in text):
                latest = None
            elif language == "swift":
                file = "Block.swift" if "@main" in text else "main.swift"
                location = f"#sourceLocation(file: {json.dumps(str(path))}, line: {start})\n"
                targets[name] = (file, location + text)
                latest = name
            elif language in {"text", "mermaid"} and before.endswith("It prints:") and latest:
                printed[latest] = (f"{shown}:{start}", text)
            elif language not in NOT_COMPILED:
                print(f"{shown}:{start - 1}: error: a block is swift, sh, text, json or mermaid, not {language!r}")
                succeeded = False
    sources = OUTPUT / "Sources"
    for folder in sources.iterdir() if sources.exists() else []:
        if folder.name not in targets:
            shutil.rmtree(folder)
    for name, (file, text) in targets.items():
        for other in {"Block.swift", "main.swift"} - {file}:
            (sources / name / other).unlink(missing_ok=True)
        write(sources / name / file, text)
    if targets:
        write(OUTPUT / "Package.swift", manifest(targets))
        build = subprocess.run(
            ["swift", "build", "--package-path", str(OUTPUT), "--scratch-path", str(SCRATCH)])
        succeeded &= build.returncode == 0
        for name, (place, text) in printed.items() if build.returncode == 0 else []:
            succeeded &= runs(name, place, text)
    if not targets and not manifests and not recipes:
        print("error: no Swift block was found")
        succeeded = False
    print(
        f"{len(targets)} programs, {len(printed)} of them run, {manifests} manifests and {recipes} recipes in "
        f"{len(paths)} pages")
    sys.exit(0 if succeeded else 1)


if __name__ == "__main__":
    main()
