// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro

/// The scheme and authority (host and port) of the server that a request is for, and its address if the request is for
/// one of several servers with that authority.
package struct HostKey: Hashable {
  package var isTLS: Bool
  package var authority: String
  package var member: MemberAddress?

  package init(_ request: TransferRequest) {
    isTLS = request.head.scheme == "https"
    authority = request.head.authority ?? ""
    member = request.member
  }

  /// Hashes the address only if there is one: most requests have none, and the hash is part of every request's cost.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(isTLS)
    hasher.combine(authority)
    if let member { hasher.combine(member) }
  }
}
