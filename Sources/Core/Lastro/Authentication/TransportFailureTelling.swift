// SPDX-License-Identifier: Apache-2.0

/// Distinguishes failures of the transport from responses.
protocol TransportFailureTelling {
  /// Whether the exchange failed before a valid response was received.
  var isTransportFailure: Bool { get }
}

extension TransportError: TransportFailureTelling {
  var isTransportFailure: Bool { stage != .request }
}

extension HTTPFetchError: TransportFailureTelling {
  var isTransportFailure: Bool {
    switch record.kind {
    case .transport, .badResponse, .cancelled: true
    default: false
    }
  }
}

extension AccessTokenError: TransportFailureTelling {
  var isTransportFailure: Bool { if case .refreshTimedOut = self { true } else { false } }
}

extension OAuth2Error: TransportFailureTelling {
  var isTransportFailure: Bool { if case .fetch(let error) = self { error.isTransportFailure } else { false } }
}

extension CancellationError: TransportFailureTelling {
  var isTransportFailure: Bool { true }
}
