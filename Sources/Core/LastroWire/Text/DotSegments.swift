// SPDX-License-Identifier: Apache-2.0

extension String {
  /// The path without `.` and `..` segments (RFC 3986 §5.2.4). The path must begin with `/`. Percent-encoded dots count
  /// as dots, because servers decode them (§6.2.2.2) and browsers treat them alike.
  package var withoutDotSegments: String {
    guard contains(".") || contains("%2") else { return self }
    var kept: [Substring] = []
    let segments = dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment.lowercased().replacing("%2e", with: ".") {
      case ".": if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }
}
