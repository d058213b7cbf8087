package interlock.rules.webfetch

# METADATA
# title: URLs that carry something encoded
# description: |
#   A long word without a break in a URL is more than the name of a page: a key, a token, or text that was encoded to be
#   carried away. The settings say how long such a word may be for a host that is not listed, and what is done with a
#   longer one.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.webfetch.encoded,
	"code": "encoded_url",
	"message": sprintf("carries something encoded to a domain that is not listed: %s", [data.interlock.rules.shown(encoded)]),
	"rule": "webfetch/encoded",
} if {
	asked_for(data.interlock.settings.webfetch.encoded)
	count(encoded) > 0
}

encoded contains host_of(url) if {
	some url in fetch.urls
	not known(url)
	not plainly_worded(url)
}

plainly_worded(url) if {
	is_string(url.given)
	pattern := longer_word
	not holds_word(pattern, url.given)
}

holds_word(pattern, text) if regex.match(pattern, text)

# RE2 repeats at most a thousand times, and whole times.
longer_word := sprintf("[A-Za-z0-9_]{%v}", [max([1, min([1000, floor(data.interlock.settings.webfetch.longest_word) + 1])])])
