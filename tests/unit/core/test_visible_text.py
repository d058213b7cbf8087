"""What comes from tools and agents cannot act on a terminal, hide, or reorder what stands beside it."""

import sys
import unicodedata

import pytest
from interlock_gateway.core.visible import visible, visible_line


@pytest.mark.req("CHK-10")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 100 % & <tags>", "plain text, 100 % & <tags>"),
        ("Grüße, 日本語, naïve, 😀", "Grüße, 日本語, naïve, 😀"),
        ("\x1b[31mred\x1b[0m", "<U+001B>[31mred<U+001B>[0m"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "<U+001B>]8;;http://evil<U+001B>\\link<U+001B>]8;;<U+001B>\\"),
        ("\x9b2J", "<U+009B>2J"),
        ("progress\r100 %", "progress<U+000D>100 %"),
        ("back\b\b\bspace", "back<U+0008><U+0008><U+0008>space"),
        ("bell\a nul\0 del\x7f", "bell<U+0007> nul<U+0000> del<U+007F>"),
        ("invoice\u202efdp.exe", "invoice<U+202E>fdp.exe"),
        ("a\u2066b\u2069c\u200ed\u061ce", "a<U+2066>b<U+2069>c<U+200E>d<U+061C>e"),
        ("rm\u200b -rf", "rm<U+200B> -rf"),
        ("pass\u00adword \ufeff", "pass<U+00AD>word <U+FEFF>"),
        ("tag\U000e0041\U000e0042", "tag<U+E0041><U+E0042>"),
        ("selector\U000e0100", "selector<U+E0100>"),
        ("rm\ufe00 hidden\ufe0f", "rm<U+FE00> hidden<U+FE0F>"),
        ("join\u034fer vowel\u180f", "join<U+034F>er vowel<U+180F>"),
        ("note\U0001d159 filler\U00016fe4", "note<U+1D159> filler<U+16FE4>"),
        ("filler\u3164\u115f\u2800", "filler<U+3164><U+115F><U+2800>"),
        ("space\u00a0\u2003", "space<U+00A0><U+2003>"),
        ("line\u2028paragraph\u2029", "line<U+2028>paragraph<U+2029>"),
        ("surrogate\ud800", "surrogate<U+D800>"),
        ("private\ue000", "private<U+E000>"),
    ],
)
def test_what_would_not_be_seen_is_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_line_breaks_and_tabs_stay_in_text_and_are_shown_in_a_line() -> None:
    assert visible("a\n\tb") == "a\n\tb"
    assert visible_line("a\n\tb") == "a<U+000A><U+0009>b"


@pytest.mark.req("CHK-10")
def test_no_control_or_format_character_of_all_of_unicode_gets_through() -> None:
    through = [
        f"{code:04X}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        and visible_line(chr(code)) != f"<U+{code:04X}>"
    ]
    assert through == []


def test_what_is_visible_is_shown_once_and_for_all() -> None:
    everything = "".join(map(chr, range(0x3000)))
    assert visible(visible(everything)) == visible(everything)
