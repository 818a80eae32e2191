// SPDX-License-Identifier: Apache-2.0

public import GRPCCore
public import Lastro

/// The cause of an `RPCError`: the ledger of the HTTP call, and its own failure.
///
/// ```swift
/// catch let error as RPCError {
///   logger.error("\(error): \(error.ledger?.description ?? "no ledger")")
/// }
/// ```
///
/// A deadline that gRPC's client finds passed, before the transport does, has no cause.
public struct LastroCallFailure: Error, CustomStringConvertible {
  /// The record of the call: every attempt with its times and facts. Its last attempt is the response's, even if the
  /// stream failed later.
  public let ledger: AttemptLedger
  /// The failure of the exchange: `HTTPFetchError<any Error>` before the response's head, and `TransportError` after
  /// it. `nil` if the server ended the call with a status, or its messages are not valid.
  public internal(set) var error: (any Error)?

  /// Creates the cause of a call's failure.
  init(ending response: ResourceResponse?, with error: (any Error)?) {
    ledger = response?.ledger ?? (error as? HTTPFetchError<any Error>)?.ledger ?? Self.none
    self.error = error
  }

  /// The ledger of a call for which no request was made.
  private static let none = HTTPFetchError<any Error>(.cancelled).ledger

  /// The failure of the exchange, and the ledger.
  public var description: String { (error.map { "\($0)\n" } ?? "") + ledger.description }
}

extension RPCError {
  /// The ledger of the HTTP call that failed, if the call was sent by a ``LastroGRPCTransport``.
  public var ledger: AttemptLedger? { (cause as? LastroCallFailure)?.ledger }
}
