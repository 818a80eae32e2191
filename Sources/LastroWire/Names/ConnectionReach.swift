// SPDX-License-Identifier: Apache-2.0

/// To which addresses connections are made. Not among what users of `ConnectionOptions` meet: other targets' properties
/// set it.
package struct ConnectionReach: Sendable, Hashable {
  /// Which may be connected to; `nil`: as the engine says.
  package var egress: EgressRules?
  /// Who is asked for the addresses of names; `nil`: libcurl resolves them.
  package var names: NameSource?

  package init() {}
}
