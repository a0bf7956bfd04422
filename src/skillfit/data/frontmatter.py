"""The block between the `---` lines of a SKILL.md: where it is, and what its keys hold as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import yaml

Value = str | list[Any] | dict[str, Any]

_FENCE = re.compile(r"---[ \t]*")
_BLANK = re.compile(r"[ \t]*\n")
_COMMENT = re.compile(r"<!--.*?-->[ \t]*\n?", re.DOTALL)
_KEY = re.compile(r"(?P<key>[A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(?P<value>.*)|[ \t]*)")
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?")
_HEADING = re.compile(r"#{1,6} ")
_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = {
    _STANDARD + name for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge", "value")
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is many times faster, and bounds the nesting


@dataclass(frozen=True, slots=True)
class Note:
    """Something odd about a file: a short code and, in words, what was found and what was done."""

    code: str
    detail: str

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


@dataclass(slots=True)
class Frontmatter:
    """Keys of a frontmatter in file order, all scalars as written; `joined` has each key's value as one text.

    kinds: `text`, `null`, `mapping`, `list` or what YAML takes an unquoted scalar for (`int`, `bool`, …).
    """

    values: dict[str, Value] = field(default_factory=dict)
    joined: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Parts:
    """A SKILL.md taken apart. frontmatter is None where there is none; repairs and notices say what was odd."""

    frontmatter: Frontmatter | None
    body: str
    comment: str = ""
    repairs: list[Note] = field(default_factory=list)
    notices: list[Note] = field(default_factory=list)


def take_apart(text: str) -> Parts:
    """Find and read the frontmatter of a text with LF line ends; everything else is the body, nothing is dropped."""
    start, comment = _skip_leading(text)
    lines = text[start:].split("\n")
    if not _FENCE.fullmatch(lines[0]):
        note = Note("no_frontmatter", "the file does not begin with a --- line; the whole file is the body")
        return Parts(None, _trim(text), repairs=[note])
    parts = Parts(None, "", comment)
    if comment:
        parts.repairs.append(
            Note("frontmatter_not_at_top", "a comment stands before the frontmatter; it was set aside")
        )
    elif start:
        parts.repairs.append(Note("leading_blank", "blank lines stand before the frontmatter"))
    end = next((i for i, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return _unclosed(lines, _leading_keys(lines), parts)
    return _closed(text, lines, end, parts)


def _skip_leading(text: str) -> tuple[int, str]:
    """Where the first line that is neither blank nor an HTML comment begins, and the comments before it."""
    at, comments = 0, []
    while True:
        blank = _BLANK.match(text, at)
        comment = _COMMENT.match(text, at)
        if blank:
            at = blank.end()
        elif comment:
            comments.append(comment.group().strip())
            at = comment.end()
        else:
            return at, "\n".join(comments)


def _closed(text: str, lines: list[str], end: int, parts: Parts) -> Parts:
    head = "\n".join(lines[1:end])
    parts.body = _trim("\n".join(lines[end + 1 :]))
    try:
        parts.frontmatter = _read_yaml(head, parts)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        cut = _prose_after_blank(lines[:end])
        if cut is not None:
            return _unclosed(lines, cut, parts)
        parts.repairs.append(Note("yaml_error", f"not valid YAML ({_problem(error)}); read line by line"))
        parts.frontmatter = _read_lines(head)
    if parts.frontmatter is None:
        note = Note("no_frontmatter", "the text between the --- lines holds no keys; the whole file is the body")
        return Parts(None, _trim(text), repairs=[note])
    return parts


def _unclosed(lines: list[str], cut: int, parts: Parts) -> Parts:
    parts.repairs.append(
        Note("unclosed_frontmatter", f"no --- line ends it; the {cut - 1} lines before the text were taken as its keys")
    )
    head = "\n".join(lines[1:cut])
    try:
        parts.frontmatter = _read_yaml(head, parts)
    except (yaml.YAMLError, ValueError, RecursionError):
        parts.frontmatter = _read_lines(head)
    parts.body = _trim("\n".join(lines[cut:]))
    return parts


def _leading_keys(lines: list[str]) -> int:
    """The first line after the opening fence that cannot belong to the keys."""
    for number, line in enumerate(lines[1:], 1):
        if not line.strip() or line.startswith("#") or not (_KEY.fullmatch(line) or line[0] in " \t-"):
            return number
    return len(lines)


def _prose_after_blank(lines: list[str]) -> int | None:
    """The blank line after which markdown begins: the --- line further down is then a rule of the body."""
    blank = next((i for i, line in enumerate(lines[1:], 1) if not line.strip()), None)
    if blank is None:
        return None
    rest = [line for line in lines[blank:] if line.strip()]
    prose = any(line[0] not in " \t-#}]" and not _KEY.fullmatch(line) for line in rest)
    return blank if prose and rest and _HEADING.match(rest[0]) else None


def _read_yaml(head: str, parts: Parts) -> Frontmatter | None:
    """Keys by YAML's grammar. Only nodes are composed, so no tag is ever constructed and scalars stay as written.

    Raises YAMLError or ValueError where YAML cannot read it; returns None if it holds something other than keys.
    """
    root = yaml.compose(head, Loader=_LOADER)
    if root is None:
        return Frontmatter() if not head.strip() else None
    if not isinstance(root, yaml.MappingNode):
        return None
    result, seen = Frontmatter(), set[int]()
    for key_node, node in root.value:
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else _slice(head, key_node)
        if key in result.values:
            parts.repairs.append(Note("duplicate_key", f"`{key}` is given twice; the last value is kept"))
        for tag in _odd_tags(node):
            parts.notices.append(Note("unsafe_yaml_tag", f"`{key}` carries the tag {tag}; it was read as plain text"))
        result.values[key] = _plain(node, seen)
        result.joined[key] = _joined(head, node)
        result.kinds[key] = _kind(node)
    return result


def _plain(node: yaml.Node, seen: set[int]) -> Value:
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if id(node) in seen:  # expanding references can blow a small file up without bound
        raise ValueError("references (`*name`) to lists or mappings are not followed")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, seen) for item in node.value]
    return {str(key.value): _plain(value, seen) for key, value in node.value}


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "mapping"
    if isinstance(node, yaml.SequenceNode):
        return "list"
    name = node.tag.removeprefix(_STANDARD)
    return name if node.tag in _PLAIN_TAGS and name != "str" else "text"


def _joined(head: str, node: yaml.Node) -> str:
    """A value as one text: a scalar's own, a flow collection as written, a block collection with its lines joined."""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value).strip()
    lines = [line.strip() for line in _slice(head, node).splitlines() if line.strip()]
    if isinstance(node, yaml.SequenceNode) and not node.flow_style:
        return ", ".join(line.removeprefix("- ").strip() for line in lines)
    return " ".join(lines)


def _slice(head: str, node: yaml.Node) -> str:
    return head[node.start_mark.index : node.end_mark.index]


def _odd_tags(node: yaml.Node) -> Iterator[str]:
    if node.tag not in _PLAIN_TAGS:
        yield node.tag.replace(_STANDARD, "!!")
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if item.tag not in _PLAIN_TAGS:
                yield item.tag.replace(_STANDARD, "!!")


def _read_lines(head: str) -> Frontmatter:
    """Keys read line by line: `key: value` at the margin, all following lines up to the next key belong to it."""
    result, key = Frontmatter(), ""
    found: dict[str, list[str]] = {}
    for line in head.split("\n"):
        match = _KEY.fullmatch(line)
        if match:
            key = match["key"]
            found[key] = [match["value"] or ""]
        elif key and not line.startswith("#"):
            found[key].append(line)
    for key, lines in found.items():
        result.values[key] = result.joined[key] = _line_value(lines)
        result.kinds[key] = "text" if result.joined[key] else "null"
    return result


def _line_value(lines: list[str]) -> str:
    first = lines[0].strip()
    if _BLOCK.fullmatch(first):
        text = dedent("\n".join(lines[1:])).strip("\n")
        return text if first[0] == "|" else _fold(text)
    text = " ".join(line.strip() for line in lines if line.strip())
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        quote = text[0]
        return text[1:-1].replace("''" if quote == "'" else '\\"', quote)
    return text


def _fold(text: str) -> str:
    return "\n".join(" ".join(part.split("\n")) for part in text.split("\n\n"))


def _problem(error: Exception) -> str:
    """What YAML says, without the excerpt of the file it appends."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    text = str(problem or getattr(error, "reason", None) or error).split("\n")[0]
    return f"line {mark.line + 1} of the frontmatter: {text}" if mark else text


def _trim(text: str) -> str:
    return text.strip("\n").rstrip()
