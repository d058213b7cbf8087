"""Canaries: made-up secrets of every well-known shape, put together here so that no file holds one (SEC-4)."""

import base64
import random
import string
from collections.abc import Callable
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


@dataclass(frozen=True)
class Canary:
    """A text, the secret in it that must never be seen again, and the kind it must be reported as."""

    kind: str
    text: str
    secret: str


def _some(rng: random.Random, alphabet: str, length: int) -> str:
    # Always a digit and a letter of either case, as in a real token.
    start = "".join(letter for letter in ("a", "Z", "7") if letter in alphabet)
    return start + "".join(rng.choice(alphabet) for _ in range(length - len(start)))


Make = Callable[[random.Random], Canary]


def _token(kind: str, *parts: str | tuple[str, int]) -> Make:
    def make(rng: random.Random) -> Canary:
        token = "".join(part if isinstance(part, str) else _some(rng, *part) for part in parts)
        return Canary(kind, token, token)

    return make


def _within(kind: str, template: str, *parts: str | tuple[str, int]) -> Make:
    """A secret that is one only because of what stands around it."""

    def make(rng: random.Random) -> Canary:
        secret = "".join(part if isinstance(part, str) else _some(rng, *part) for part in parts)
        return Canary(kind, template.replace("@@", secret), secret)

    return make


def _pem(rng: random.Random) -> Canary:
    body = "\n".join(_some(rng, ALNUM, 64) for _ in range(6))
    text = f"-----BEGIN {'RSA PRIVATE'} KEY-----\n{body}\n-----END {'RSA PRIVATE'} KEY-----"
    return Canary("private-key", text, body)


def _basic(rng: random.Random) -> Canary:
    secret = base64.b64encode(f"user:{_some(rng, ALNUM, 14)}".encode()).decode()
    return Canary("basic-credentials", f"use Basic {secret} here", secret)


SHAPES: dict[str, Make] = {
    "pem": _pem,
    "age": _token("age-key", "AGE-SECRET-" + "KEY-1", (UPPER, 50)),
    "aws": _token("aws-access-key", "AK" + "IA", (UPPER, 16)),
    "aws-temporary": _token("aws-access-key", "AS" + "IA", (UPPER, 16)),
    "aws-secret": _within("password", "aws_secret_access_key = @@", (ALNUM, 40)),
    "github": _token("github-token", "gh" + "p_", (ALNUM, 36)),
    "github-app": _token("github-token", "gh" + "s_", (ALNUM, 36)),
    "github-fine": _token("github-token", "github" + "_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
    "gitlab": _token("gitlab-token", "gl" + "pat-", (ALNUM, 20)),
    "slack-bot": _token("slack-token", "xo" + "xb-", (string.digits, 11), "-", (ALNUM, 24)),
    "slack-app": _token("slack-token", "xa" + "pp-1-", (UPPER, 11), "-", (ALNUM, 40)),
    "slack-webhook": _token(
        "slack-webhook", "hooks.slack.com/" + "services/", (UPPER, 9), "/", (UPPER, 9), "/", (ALNUM, 24)
    ),
    "stripe": _token("stripe-key", "sk" + "_live_", (ALNUM, 24)),
    "stripe-restricted": _token("stripe-key", "rk" + "_test_", (ALNUM, 24)),
    "stripe-webhook": _token("stripe-webhook-secret", "wh" + "sec_", (ALNUM, 32)),
    "anthropic": _token("anthropic-key", "sk-" + "ant-api03-", (ALNUM, 90)),
    "openai-project": _token("openai-key", "sk-" + "proj-", (ALNUM + "_-", 100)),
    "openai": _token("openai-key", "sk-", (ALNUM, 48)),
    "openrouter": _token("openrouter-key", "sk-" + "or-v1-", (HEX, 64)),
    "google": _token("google-api-key", "AI" + "za", (ALNUM, 35)),
    "google-secret": _token("google-oauth-secret", "GOC" + "SPX-", (ALNUM, 28)),
    "google-oauth": _token("google-oauth-token", "ya" + "29.", (ALNUM, 60)),
    "npm": _token("npm-token", "np" + "m_", (ALNUM, 36)),
    "pypi": _token("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc", (ALNUM, 60)),
    "jwt": _token("jwt", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "J", (ALNUM, 40), ".", (ALNUM + "_-", 43)),
    "sendgrid": _token("sendgrid-key", "S" + "G.", (ALNUM, 22), ".", (ALNUM, 43)),
    "twilio": _token("twilio-key", "S" + "K", (HEX, 32)),
    "mailgun": _token("mailgun-key", "ke" + "y-", (HEX, 32)),
    "mailchimp": _token("mailchimp-key", (HEX, 32), "-us" + "12"),
    "digitalocean": _token("digitalocean-token", "do" + "p_v1_", (HEX, 64)),
    "heroku": _token("heroku-key", "HR" + "KU-", (ALNUM, 40)),
    "vault": _token("vault-token", "hv" + "s.", (ALNUM, 90)),
    "terraform": _token("terraform-token", (ALNUM, 14), ".atlas" + "v1.", (ALNUM, 60)),
    "docker": _token("docker-token", "dckr" + "_pat_", (ALNUM, 27)),
    "databricks": _token("databricks-token", "da" + "pi", (HEX, 32)),
    "huggingface": _token("huggingface-token", "h" + "f_", (ALNUM, 34)),
    "replicate": _token("replicate-token", "r" + "8_", (ALNUM, 37)),
    "groq": _token("groq-key", "gs" + "k_", (ALNUM, 52)),
    "xai": _token("xai-key", "xa" + "i-", (ALNUM, 80)),
    "perplexity": _token("perplexity-key", "pp" + "lx-", (ALNUM, 48)),
    "shopify": _token("shopify-token", "shp" + "at_", (HEX, 32)),
    "square": _token("square-token", "sq0" + "atp-", (ALNUM, 22)),
    "telegram": _token("telegram-token", (string.digits, 10), ":A" + "A", (ALNUM, 33)),
    "discord": _token("discord-token", "M", (ALNUM, 25), ".", (ALNUM, 6), ".", (ALNUM, 38)),
    "discord-webhook": _token(
        "discord-webhook", "discord.com/" + "api/webhooks/", (string.digits, 18), "/", (ALNUM, 68)
    ),
    "linear": _token("linear-key", "lin" + "_api_", (ALNUM, 40)),
    "notion": _token("notion-token", "nt" + "n_", (ALNUM, 46)),
    "airtable": _token("airtable-token", "pa" + "t", (ALNUM, 14), ".", (HEX, 64)),
    "atlassian": _token("atlassian-token", "ATA" + "TT3", (ALNUM, 180)),
    "newrelic": _token("newrelic-key", "NR" + "AK-", (UPPER, 27)),
    "grafana": _token("grafana-token", "gl" + "sa_", (ALNUM, 32), "_", (HEX, 8)),
    "sentry": _token("sentry-token", "snt" + "rys_", (ALNUM, 80)),
    "pulumi": _token("pulumi-token", "pu" + "l-", (HEX, 40)),
    "planetscale": _token("planetscale-token", "pscale" + "_tkn_", (ALNUM, 43)),
    "supabase": _token("supabase-key", "sb" + "p_", (HEX, 40)),
    "doppler": _token("doppler-token", "dp" + ".pt.", (ALNUM, 43)),
    "rubygems": _token("rubygems-key", "ruby" + "gems_", (HEX, 48)),
    "fly": _token("fly-token", "fm" + "2_", (ALNUM, 120)),
    "cloudflare": _token("cloudflare-key", "v1" + ".0-", (HEX, 24), "-", (HEX, 146)),
    "postman": _token("postman-key", "PM" + "AK-", (HEX, 24), "-", (HEX, 34)),
    "figma": _token("figma-token", "fi" + "gd_", (ALNUM, 40)),
    "okta": _token("okta-token", "SS" + "WS ", (ALNUM, 42)),
    "bcrypt": _token("password-hash", "$2" + "b$12$", (ALNUM, 53)),
    "shadow": _token("password-hash", "$6" + "$", (ALNUM, 16), "$", (ALNUM, 86)),
    "azure-sas": _within(
        "azure-signature", "https://x.blob.core.windows.net/c/b?sv=2024&sig=@@&se=2026", (ALNUM, 43), "%3D"
    ),
    "azure-account": _within(
        "password", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@@;Suffix=y", (ALNUM, 86), "=="
    ),
    "aws-presigned": _within(
        "aws-signature", "https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=@@&x=1", (HEX, 64)
    ),
    "url": _within("url-password", "postgres://app:@@@db.internal:5432/orders", (ALNUM, 16)),
    "url-token": _within("url-token", "https://@@@git.example.com/repo.git", (ALNUM, 40)),
    "authorization": _within("authorization", "Authorization: Digest @@", (ALNUM, 30)),
    "bearer": _within("bearer-token", "send 'Bearer @@' with it", (ALNUM, 32)),
    "basic": _basic,
    "cookie": _within("cookie", "Set-Cookie: session=@@; HttpOnly", (ALNUM, 32)),
    "curl": _within("curl-user", "$ curl -s -u admin:@@ https://example.com", (ALNUM, 14)),
    "netrc": _within("netrc", "machine example.com login bob password @@", (ALNUM, 14)),
    "xml": _within("password-element", "<server><password>@@</password></server>", (ALNUM, 14)),
    "option": _within("password-option", "mysqldump --password @@ orders", (ALNUM, 14)),
    "environment": _within("password", "export PGPASSWORD=@@", (ALNUM, 14)),
    "yaml": _within("password", "db:\n  password: @@\n  port: 5432", (ALNUM, 14)),
    "json": _within("password", '{"db": {"api_key": "@@", "port": 1}}', (ALNUM, 24)),
    "json-in-json": _within("password", r'{"log": "{\"client_secret\": \"@@\"}"}', (ALNUM, 24)),
    "connection": _within("password", "Server=db;User Id=sa;Password=@@;Encrypt=true", (ALNUM, 14)),
    "secret": _within("secret", "webhook secret: @@", (ALNUM, 24)),
}


def canary(shape: str, seed: int = 0) -> Canary:
    """The canary of a shape; another seed, another secret."""
    return SHAPES[shape](random.Random(f"{shape}{seed}"))
