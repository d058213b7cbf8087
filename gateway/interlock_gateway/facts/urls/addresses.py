"""Which network a host belongs to: the public one, or one that only this machine or its owner should reach."""

import ipaddress
from typing import Literal, TypeAlias

Reach: TypeAlias = Literal[
    "public",
    "local_name",
    "loopback",
    "private",
    "link_local",
    "shared",
    "metadata",
    "multicast",
    "reserved",
    "unspecified",
    "none",
]
"""`local_name` is a name that the public DNS does not answer for, `none` a URL without a host."""

REACHES: tuple[Reach, ...] = (
    *("public", "local_name", "loopback", "private", "link_local", "shared", "metadata", "multicast", "reserved"),
    *("unspecified", "none"),
)
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

# Where clouds tell a machine its own secrets: AWS (also for containers), Azure, Google, Oracle, Alibaba, and their kin.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            *("169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.169.253", "169.254.169.123"),
            *("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"),
        ),
    )
)
_METADATA_NAMES = frozenset(
    {
        *("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "metadata.tencentyun.com"),
        *(
            "api.metadata.cloud.ibm.com",
            "metadata.platformequinix.com",
            "metadata.packet.net",
            "metadata.azure.internal",
        ),
    }
)
_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
_SHARED = ipaddress.ip_network("100.64.0.0/10")
_CARRIES_V4 = (
    (ipaddress.ip_network("::ffff:0:0/96"), 0),
    (ipaddress.ip_network("::ffff:0:0:0/96"), 0),
    (ipaddress.ip_network("::/96"), 0),
    (ipaddress.ip_network("64:ff9b::/96"), 0),
    (ipaddress.ip_network("64:ff9b:1::/48"), 0),
    (ipaddress.ip_network("2002::/16"), 80),
)
"""IPv6 networks whose addresses hold an IPv4 address, and how many bits stand to the right of it."""

_ISATAP = frozenset({0x00005EFE, 0x02005EFE})
"""The third quarter of an IPv6 address that ends in an IPv4 address, in any network (RFC 5214)."""

# RFC 6761, 6762, 7686, 8375 and the names that ICANN keeps out of the root because networks use them inside, with
# those that routers and private networks give.
_LOCAL_SUFFIXES = frozenset(
    {
        *("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa"),
        *("onion", "test", "invalid", "alt", "consul", "svc", "intra", "domain", "workgroup", "dhcp", "fritz.box"),
        *("ts.net", "tailscale.net", "mshome.net", "routerlogin.net", "tplinkwifi.net"),
    }
)


def reach_of_address(text: str) -> Reach | None:
    """Which network the address `text` (no brackets) lies in; None when it is no address. What it carries counts."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    looked_at: list[_Address] = [*_carried(address), *([] if _is_mapped(address) else [address])]
    return next((reach for one in looked_at if (reach := _reach(one)) != "public"), "public")


def reach_of_name(host: str) -> Reach:
    """Which network the name `host` (lower case, no dot at its end) belongs to, as far as the name tells."""
    if host in _METADATA_NAMES or host.startswith("instance-data."):
        return "metadata"
    labels = host.split(".")
    if len(labels) == 1:
        return "loopback" if host == "localhost" else "local_name"
    if labels[-1] == "localhost":
        return "loopback"
    return "local_name" if {labels[-1], ".".join(labels[-2:])} & _LOCAL_SUFFIXES else "public"


def _carried(address: _Address) -> list[_Address]:
    """The IPv4 addresses that a router or a system would take an IPv6 address for."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[_Address] = [
        ipaddress.IPv4Address(int(address) >> shift & 0xFFFFFFFF)
        for network, shift in _CARRIES_V4
        if address in network and int(address) > 1
    ]
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [*found, *(address.teredo or ())]


def _is_mapped(address: _Address) -> bool:
    """Whether a system connects to the IPv4 address in it, and to nothing else."""
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def _reach(address: _Address) -> Reach:
    if address in _METADATA:
        return "metadata"
    kinds: tuple[tuple[Reach, bool], ...] = (
        ("unspecified", address.is_unspecified or address in _THIS_NETWORK),
        ("loopback", address.is_loopback),
        ("link_local", address.is_link_local),
        ("multicast", address.is_multicast),
        ("shared", address in _SHARED),
        ("reserved", address.is_reserved),
        ("private", address.is_private or getattr(address, "is_site_local", False)),
        ("reserved", not address.is_global),
    )
    return next((reach for reach, is_so in kinds if is_so), "public")
