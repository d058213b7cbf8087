package interlock.rules.webfetch

# METADATA
# title: Schemes
# description: Only URLs of the listed schemes are fetched; `file:` and `data:` are not among them.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "url_scheme",
	"message": sprintf("URLs of this scheme are not fetched: %s", [data.interlock.rules.shown(strange)]),
	"rule": "webfetch/scheme",
} if {
	count(strange) > 0
}

strange contains named(url) if {
	some url in fetch.urls
	not of_listed_scheme(url)
}

of_listed_scheme(url) if data.interlock.settings.webfetch.schemes[url.scheme]
