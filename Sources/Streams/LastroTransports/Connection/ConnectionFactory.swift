// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A factory of connections, which represents a transport in the Swift Transport API (§1.2).
///
/// A transport that accepts another factory creates its connections over those of the other: transports are nested this
/// way.
///
/// A factory that logs requires a `log: Logger` in every initialiser; a factory that does not log has none (§1.2.1).
/// The factories of Lastro have none: their connections log to ``ConnectionParameters/logger``.
public protocol ConnectionFactory: Sendable {
  /// Creates a connection without starting it. Returns `nil` if the transport does not support the requested kind, such
  /// as datagrams (Swift Transport API §1.3).
  ///
  /// - Parameter parameters: the parameters of the innermost connection, the one to the network. Factories that wrap
  ///   others pass them on unchanged.
  func connect(using parameters: ConnectionParameters) -> (any Connection)?
}
