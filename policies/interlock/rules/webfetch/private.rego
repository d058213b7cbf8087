package interlock.rules.webfetch

# METADATA
# title: Addresses inside
# description: |
#   Hosts that only this machine or its network can reach are not asked: private, local and reserved addresses in every
#   spelling, names that mean such a place, and where clouds keep a machine's credentials. `internal_hosts` lists those
#   that may be asked all the same; what clouds keep may not.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "private_address",
	"message": sprintf("not a public host: %s", [data.interlock.rules.shown(inside)]),
	"rule": "webfetch/private",
} if {
	count(inside) > 0
}

inside contains named(url) if {
	some url in fetch.urls
	not reachable(url)
}

reachable(url) if {
	url.reach == "public"
	not listed(url, data.interlock.settings.webfetch.names_of_addresses)
}

# Without a host there is nobody to ask; the scheme decides.
reachable(url) if {
	url.reach == "none"
	url.host == null
}

reachable(url) if wanted_inside(url)

wanted_inside(url) if {
	data.interlock.settings.webfetch.internal_hosts[url.host]
	url.reach != "metadata"
}
