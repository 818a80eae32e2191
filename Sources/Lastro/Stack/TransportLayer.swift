// SPDX-License-Identifier: Apache-2.0

/// Stands between a stack and its transport: what a feature above the engine asks to be put there.
package protocol TransportLayer: Sendable {
  /// A transport around the stack's own. Called once for each stack that is made.
  func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport
}
