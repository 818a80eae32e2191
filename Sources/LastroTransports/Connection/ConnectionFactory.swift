// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Makes connections, as often as it is asked: what a transport is to the Swift Transport API (§1.2).
///
/// A transport that takes another factory makes its own connections over that one's: so transports are nested.
///
/// A factory that logs takes a `log: Logger`, required, in every initialiser; one that does not has none (§1.2.1).
/// Those of Lastro have none: their connections log where ``ConnectionParameters/logger`` says.
public protocol ConnectionFactory: Sendable {
  /// Makes a connection, not started yet; `nil` where the transport has none of the kind asked for, such as datagrams
  /// (Swift Transport API §1.3).
  ///
  /// - Parameter parameters: for the innermost connection, the one to the network. Factories that are put around others
  ///   hand them on as they are.
  func connect(using parameters: ConnectionParameters) -> (any Connection)?
}
