// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The scheme and authority (host and port) of the server that a request is for.
package struct HostKey: Hashable {
  package var isTLS: Bool
  package var authority: String

  package init(_ head: HTTPRequest) {
    isTLS = head.scheme == "https"
    authority = head.authority ?? ""
  }
}
