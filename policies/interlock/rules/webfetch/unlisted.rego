package interlock.rules.webfetch

# METADATA
# title: Domains that are not listed
# description: The settings say what is done with hosts outside of the listed domains.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.webfetch.unlisted,
	"code": "unlisted_domain",
	"message": sprintf("not a listed domain: %s", [data.interlock.rules.shown(unlisted)]),
	"rule": "webfetch/unlisted",
} if {
	asked_for(data.interlock.settings.webfetch.unlisted)
	count(unlisted) > 0
}

unlisted contains named(url) if {
	some url in fetch.urls
	not known(url)
}

known(url) if listed(url, data.interlock.settings.webfetch.listed_domains)

known(url) if wanted_inside(url)
