"""What secrets look like: one row per shape (RES-6).

How a clean text is kept clean, since a mark in the wrong place breaks results:
- nothing is judged by its entropy: a digest, a UUID, a base64 image or a hex dump alone never matches;
- a token matches by its issuer's fixed prefix and its length or alphabet, at a word boundary;
- what has no prefix of its own matches only behind a name that says it is secret (`password=`, `api_key:`), and
  only when the value is not a placeholder, a variable, a type or a call (`screening.py`);
- names such as `next_page_token` or `max_tokens` are not such names.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.results.screening import (
    assigned_secret,
    assigned_token,
    basic_credentials,
    curl_password,
    key_block_end,
    option_secret,
)

Screen = Callable[[bytes, bytes, int, int], bool]
Extend = Callable[[bytes, int, int], int]

# White space as an anchor must know it: JSON text, which is looked at unparsed, has it escaped.
_GAP = rb"(?:\s|\\+[tnrf])"
_SPACES = rb"(?:[ \t]|\\+t){0,8}"
# Between a secret's name and its value: closing quotes (escaped or not), a sign, opening quotes.
_SIGN = rb"""\\*["']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}"""
# A quote that is itself escaped ends at the next escaped one; a plain one may have escapes inside.
_VALUE = (
    rb"""(?:\\+"((?:[^"\\\n]|\\[^"\n])+)|"((?:[^"\\\n]|\\.)+)"""
    rb"""|\\+'((?:[^'\\\n]|\\[^'\n])+)|'((?:[^'\\\n]|\\.)+)|([^\s"'\\;&]+))"""
)
_STRONG = (
    rb"passw(?:or)?d|passwort|pwd|pass_?phrase|api[_.-]?key|app[_.-]?key|account[_.-]?key|access[_.-]?key(?:[_.-]?id)?"
    rb"|secret[_.-]?access[_.-]?key|secret[_.-]?key|private[_.-]?key|signing[_.-]?key|encryption[_.-]?key"
    rb"|client[_.-]?secret|webhook[_.-]?secret|shared[_.-]?secret|app[_.-]?secret|connection[_.-]?string"
    rb"|(?:auth|access|refresh|id|session|bearer|api|bot|security|deploy|secret)[_.-]?token"
)
_WEAK = rb"secret|token|credentials?"
_NAME = rb"(?i)([a-z0-9_.-]*(?:%s))[0-9]{0,2}" + _SIGN + _VALUE


@dataclass(frozen=True, slots=True)
class Detector:
    """One shape. Only where `anchor`, a cheap expression, matches at all is `pattern` looked for.

    The secret is what the last matching group of `pattern` holds, or the whole match without groups. With `named`, the
    first group is the name it was assigned to. `screen` may turn a match down, given the text, that name and the
    secret's bounds; `extend` may move its end.
    """

    kind: str
    anchor: bytes
    pattern: bytes
    screen: Screen | None = None
    extend: Extend | None = None
    named: bool = False


def _token(kind: str, pattern: bytes, anchor: bytes) -> Detector:
    return Detector(kind, anchor, rb"\b(?:" + pattern + rb")")


DETECTORS: tuple[Detector, ...] = (
    Detector(
        "private-key", rb"PRIVATE KEY", rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", extend=key_block_end
    ),
    _token("age-key", rb"AGE-SECRET-KEY-1[0-9A-Z]{20,}", rb"AGE-SECRET-KEY-1"),
    _token("aws-access-key", rb"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", rb"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{4}"),
    _token("github-token", rb"gh[pousr]_[A-Za-z0-9]{36,}", rb"gh[pousr]_[A-Za-z0-9]{4}"),
    _token("github-token", rb"github_pat_[A-Za-z0-9_]{22,}", rb"github_pat_"),
    _token(
        "gitlab-token",
        rb"(?:glpat|gldt|glrt|glrtr|glptt|glft|glimt|glagent|glsoat|glcbt|glffct|gloas)-[A-Za-z0-9_.-]{16,}",
        rb"gl[a-z]{2,6}-",
    ),
    _token("slack-token", rb"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}", rb"xox[abeoprs]"),
    _token("slack-token", rb"xapp-[0-9]-[A-Za-z0-9-]{20,}", rb"xapp-[0-9]"),
    _token(
        "slack-webhook",
        rb"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}",
        rb"hooks\.slack\.com/",
    ),
    _token("stripe-key", rb"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", rb"[rs]k_(?:live|test)_"),
    _token("stripe-webhook-secret", rb"whsec_[A-Za-z0-9+/=]{24,}", rb"whsec_"),
    _token("anthropic-key", rb"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}", rb"sk-ant-"),
    _token("openai-key", rb"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}", rb"sk-[pasN][a-z]{3,6}-"),
    _token("openai-key", rb"sk-[A-Za-z0-9]{20,}", rb"sk-[A-Za-z0-9]{20}"),
    _token("openrouter-key", rb"sk-or-v1-[a-f0-9]{32,}", rb"sk-or-v1-"),
    _token("google-api-key", rb"AIza[0-9A-Za-z_-]{35}", rb"AIza[0-9A-Za-z_-]{4}"),
    _token("google-oauth-secret", rb"GOCSPX-[0-9A-Za-z_-]{20,}", rb"GOCSPX-"),
    _token("google-oauth-token", rb"ya29\.[0-9A-Za-z_-]{20,}", rb"ya29\."),
    _token("npm-token", rb"npm_[A-Za-z0-9]{36}", rb"npm_[A-Za-z0-9]{8}"),
    _token("pypi-token", rb"pypi-AgE[A-Za-z0-9_-]{40,}", rb"pypi-AgE"),
    _token("jwt", rb"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", rb"\.eyJ[A-Za-z0-9_-]{4}"),
    _token(
        "jwt",
        rb"eyJhbGci[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        rb"eyJhbGci",
    ),
    _token("sendgrid-key", rb"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,}", rb"SG\.[A-Za-z0-9_-]{8}"),
    _token("twilio-key", rb"SK[0-9a-f]{32}\b", rb"SK[0-9a-f]{16}"),
    _token("mailgun-key", rb"key-[0-9a-f]{32}\b", rb"key-[0-9a-f]{16}"),
    _token("mailchimp-key", rb"[0-9a-f]{32}-us[0-9]{1,2}\b", rb"[0-9a-f]-us[0-9]"),
    _token("digitalocean-token", rb"do[opr]_v1_[a-f0-9]{64}", rb"do[opr]_v1_"),
    _token("heroku-key", rb"HRKU-[A-Za-z0-9_-]{30,}", rb"HRKU-"),
    _token("vault-token", rb"hv[sbr]\.[A-Za-z0-9_-]{20,}", rb"hv[sbr]\.[A-Za-z0-9_-]{8}"),
    _token("terraform-token", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}", rb"\.atlasv1\."),
    _token("docker-token", rb"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}", rb"dckr_[po]at_"),
    _token("databricks-token", rb"dapi[a-f0-9]{32}(?:-[0-9])?\b", rb"dapi[a-f0-9]{16}"),
    _token("huggingface-token", rb"hf_[A-Za-z0-9]{34,}", rb"hf_[A-Za-z0-9]{16}"),
    _token("replicate-token", rb"r8_[A-Za-z0-9]{37}\b", rb"r8_[A-Za-z0-9]{16}"),
    _token("groq-key", rb"gsk_[A-Za-z0-9]{40,}", rb"gsk_[A-Za-z0-9]{16}"),
    _token("xai-key", rb"xai-[A-Za-z0-9_-]{60,}", rb"xai-[A-Za-z0-9_-]{16}"),
    _token("perplexity-key", rb"pplx-[A-Za-z0-9]{40,}", rb"pplx-[A-Za-z0-9]{16}"),
    _token("shopify-token", rb"shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}\b", rb"shp[a-z]{2,3}_"),
    _token("square-token", rb"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}", rb"sq0[aci]"),
    Detector("telegram-token", rb":AA[A-Za-z0-9_-]{16}", rb"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}"),
    _token(
        "discord-token",
        rb"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        rb"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
    ),
    _token("discord-webhook", rb"discord(?:app)?\.com/api/webhooks/[0-9]{5,}/[A-Za-z0-9_-]{30,}", rb"/api/webhooks/"),
    _token(
        "teams-webhook", rb"[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{40,}", rb"webhook\.office\.com"
    ),
    _token("linear-key", rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", rb"lin_(?:api|oauth)_"),
    _token("notion-token", rb"(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,})", rb"(?:secret|ntn)_[A-Za-z0-9]{16}"),
    _token("airtable-token", rb"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", rb"\.[a-f0-9]{32}"),
    _token("atlassian-token", rb"AT(?:ATT3|CTT3)[A-Za-z0-9_=-]{40,}", rb"AT[AC]TT3"),
    _token("newrelic-key", rb"NR(?:AK|RA|II|JS)-[A-Za-z0-9_-]{20,}", rb"NR[ARIJ][KAIS]-"),
    _token("grafana-token", rb"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{32,}", rb"gl(?:sa|c)_"),
    _token("sentry-token", rb"sntry[su]_[A-Za-z0-9+/=_-]{40,}", rb"sntry[su]_"),
    _token("pulumi-token", rb"pul-[a-f0-9]{40}\b", rb"pul-[a-f0-9]{16}"),
    _token("planetscale-token", rb"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{30,}", rb"pscale_"),
    _token("supabase-key", rb"sb(?:p_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,})", rb"sb(?:p_[a-f0-9]{16}|_secret_)"),
    _token("doppler-token", rb"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}", rb"dp\.[a-z]{2,5}\."),
    _token("rubygems-key", rb"rubygems_[a-f0-9]{48}", rb"rubygems_"),
    _token("fly-token", rb"fm[12][ar]?_[A-Za-z0-9+/=_-]{60,}", rb"fm[12][ar]?_"),
    _token("cloudflare-key", rb"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", rb"v1\.0-[a-f0-9]{8}"),
    _token("postman-key", rb"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", rb"PMAK-"),
    _token("figma-token", rb"figd_[A-Za-z0-9_-]{36,}", rb"figd_"),
    _token("okta-token", rb"SSWS [A-Za-z0-9_-]{38,}", rb"SSWS "),
    Detector(
        "password-hash",
        rb"\$[256y][aby]?\$|\$argon2",
        rb"\$(?:2[aby]?\$[0-9]{2}\$[A-Za-z0-9./]{53}|(?:[56y]|argon2(?:id|i|d))\$[A-Za-z0-9./$=,+]{30,})",
    ),
    Detector("azure-signature", rb"(?i)[?&;]sig=", rb"(?i)[?&;]sig=([A-Za-z0-9%+/=_-]{20,})"),
    Detector(
        "aws-signature",
        rb"(?i)x-amz-(?:signature|security-token)",
        rb"(?i)x-amz-(?:signature|security-token)=([A-Za-z0-9%+/=_-]{20,})",
    ),
    Detector(
        "url-password",
        rb"://[^\s/\"'<>]*@",
        rb"(?i)[a-z][a-z0-9+.-]*://[^\s/:@\"'<>\\]*:([^\s/\"'<>\\]+)@",
        assigned_secret,
    ),
    Detector("url-token", rb"://[^\s/\"'<>]*@", rb"(?i)https?://([A-Za-z0-9_-]{20,})@"),
    Detector(
        "authorization",
        rb"(?i)authorization",
        rb"(?i)\bauthorization\\*[\"']?\s{0,8}[:=]\s{0,8}\\*[\"']?"
        rb"(?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+([^\s\"'\\][^\r\n\"'\\]{5,})|([^\s\"'\\]{16,}))",
    ),
    Detector("bearer-token", rb"(?i)bearer" + _GAP, rb"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)", assigned_token),
    Detector("basic-credentials", rb"(?i)basic" + _GAP, rb"(?i)\bbasic\s+([A-Za-z0-9+/]{6,}={0,2})", basic_credentials),
    Detector(
        "cookie",
        rb"(?i)cookie",
        rb"(?i)\b(?:set-)?cookie\\*[\"']?\s{0,8}:\s{0,8}\\*[\"']?"
        rb"([^\r\n\"'\\]*?=[^\s;,\"'\\]{8,}[^\r\n\"'\\]*)",
    ),
    Detector(
        "curl-user", rb"curl" + _GAP, rb"\bcurl\s[^\n]*?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']+:([^\s\"']+)", curl_password
    ),
    Detector(
        "netrc",
        rb"(?i)login" + _GAP,
        rb"(?i)\b(?:machine[ \t]+\S+|default)\s+login\s+\S+\s+(?:account\s+\S+\s+)?password\s+(\S+)",
        assigned_secret,
    ),
    Detector(
        "password-element",
        rb"(?i)(?:password|passwd|secret|token|apikey)>",
        rb"(?i)<(?:\w+:)?(?:password|passwd|secret|token|apikey)>([^<\s]+)<",
        assigned_secret,
    ),
    Detector(
        "password-option",
        rb"(?i)--?[a-z-]*(?:pass|secret|token|key)",
        rb"(?i)\s--?((?:[a-z]+-)*(?:password|passwd|passphrase|pass|secret|token|api-?key|access-?key|secret-?key))"
        rb"\s+[\"']?([^\s\"'-][^\s\"']{2,})",
        option_secret,
        named=True,
    ),
    Detector(
        "password",
        rb"(?i)(?:" + _STRONG + rb")[0-9]{0,2}\\*[\"']?" + _SPACES + rb"[:=]",
        _NAME % _STRONG,
        assigned_secret,
        named=True,
    ),
    Detector(
        "secret",
        rb"(?i)(?:" + _WEAK + rb")[0-9]{0,2}\\*[\"']?" + _SPACES + rb"[:=]",
        _NAME % _WEAK,
        assigned_token,
        named=True,
    ),
)

KINDS = tuple(dict.fromkeys(detector.kind for detector in DETECTORS))

# The same names as members of structured data.
NAME_IS_SECRET = re.compile(
    rf"(?i)[a-z0-9_.-]*(?:{_STRONG.decode()})[0-9]{{0,2}}|(?:proxy-)?authorization|(?:set-)?cookie", re.ASCII
)
NAME_MAY_BE_SECRET = re.compile(rf"(?i)[a-z0-9_.-]*(?:{_WEAK.decode()})[0-9]{{0,2}}", re.ASCII)
