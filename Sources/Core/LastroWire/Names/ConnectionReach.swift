// SPDX-License-Identifier: Apache-2.0

/// The addresses that connections may be made to, and the source of addresses. It is not part of the public
/// `ConnectionOptions`; properties of other targets set it.
package struct ConnectionReach: Sendable, Hashable {
  /// The rules for addresses; `nil` for those of the engine.
  package var egress: EgressRules?
  /// The resolver of names; `nil` to let libcurl resolve them.
  package var names: NameSource?

  package init() {}
}
