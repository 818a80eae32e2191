// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// The scheme, host and port that a request is for.
struct HostKey: Hashable {
  var isTLS: Bool
  var authority: String

  init(_ head: HTTPRequest) {
    isTLS = head.scheme == "https"
    authority = head.authority ?? ""
  }
}
