// SPDX-License-Identifier: Apache-2.0

/// The names of fields that are forbidden in trailers, because in a head they would affect how a message is framed,
/// routed, authenticated or interpreted (RFC 9110 §6.5.1).
package enum TrailerNames {
  package static func areForbiddenInResponses(_ name: String) -> Bool { responses.contains(name.lowercased()) }

  package static func areForbiddenInRequests(_ name: String) -> Bool {
    let name = name.lowercased()
    return responses.contains(name) || requests.contains(name)
  }

  private static let responses: Set<String> = [
    "age", "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-range",
    "content-type", "date", "expires", "host", "keep-alive", "location", "proxy-authenticate", "proxy-authorization",
    "retry-after", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "vary", "www-authenticate",
  ]

  private static let requests: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cookie", "expect", "forwarded", "if-match",
    "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "max-forwards", "origin", "pragma",
    "proxy-connection", "range", "referer", "user-agent", "via",
  ]
}
