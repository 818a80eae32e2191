// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Lastro

/// A key whose calls share a circuit, a limit or a pace.
package struct ResilienceKey: Sendable, Hashable, CustomStringConvertible {
  /// The server.
  package let origin: Origin
  /// A text that distinguishes calls to one server; may be empty.
  package let part: String

  /// Creates a key.
  ///
  /// - Parameters:
  ///   - origin: the server.
  ///   - part: for example an operation or a tenant. Use few distinct, non-secret values: error texts include them.
  ///     Default: empty.
  package init(_ origin: Origin, part: String = "") {
    self.origin = origin
    self.part = part
  }

  /// The origin, followed by the part if there is one.
  package var description: String { part.isEmpty ? "\(origin)" : "\(origin) (\(part))" }
}
