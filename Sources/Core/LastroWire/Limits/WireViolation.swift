// SPDX-License-Identifier: Apache-2.0

/// A rule of a protocol that a peer broke, or a limit that it exceeded.
package struct WireViolation<Fault: Equatable & Sendable>: Error, Equatable, Sendable {
  package typealias Kind = Fault

  package var kind: Fault
  package var message: String

  package init(_ kind: Fault, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
