package interlock.rules.webfetch

# METADATA
# title: URLs that readers understand differently
# description: |
#   Whoever fetches may read a URL otherwise than the gateway does, when it holds a backslash, characters that are taken
#   out, characters that nobody sees, or another URL. The settings say which of these are refused.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "url_ambiguous",
	"message": sprintf("the URL can be read in several ways; write it plainly: %s", [data.interlock.rules.shown(ambiguous)]),
	"rule": "webfetch/ambiguous",
} if {
	count(ambiguous) > 0
}

ambiguous contains named(url) if {
	some url in fetch.urls
	not read_alike(url)
}

read_alike(url) if {
	hazards := url.hazards
	is_array(hazards)
	count({hazard | some hazard in hazards; hazard in data.interlock.settings.webfetch.denied_hazards}) == 0
}
