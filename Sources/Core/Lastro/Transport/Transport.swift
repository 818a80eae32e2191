// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// A transport sends a request to a server and returns its response. It separates the pipeline's policies from the
/// engine.
///
/// A transport follows no redirects, retries nothing and interprets no status. To wrap a whole exchange (record it,
/// delay it, respond from elsewhere), write a transport that wraps a transport.
///
/// An implementation must throw the cancelled error promptly when the calling task is cancelled, and must fail when
/// ``TransferRequest/deadline`` has passed: the pipeline does not enforce the deadline during an exchange.
public protocol Transport: Sendable {
  /// Performs an exchange.
  ///
  /// - Throws: ``TransportError``, with ``TransportError/requestSent`` set if a byte of the request may have been sent.
  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse

  /// Returns facts about how it would perform an exchange: proxy, trust, versions, connections. It must not use the
  /// network or reveal secrets. Default: no facts.
  func explain(_ request: TransferRequest) -> [(name: String, value: String)]
}

extension Transport {
  /// The default: returns no facts.
  public func explain(_ request: TransferRequest) -> [(name: String, value: String)] { [] }
}
