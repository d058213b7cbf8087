package interlock.rules.webfetch

# METADATA
# title: Blocked domains
# description: |
#   Domains on the list and all below them are not asked. What ships are places that exist to catch or pass on what is
#   sent to them.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "blocked_domain",
	"message": sprintf("blocked: %s", [data.interlock.rules.shown(blocked)]),
	"rule": "webfetch/blocked",
} if {
	count(blocked) > 0
}

blocked contains named(url) if {
	some url in fetch.urls
	listed(url, data.interlock.settings.webfetch.blocked_domains)
}
