// SPDX-License-Identifier: Apache-2.0

/// Tells failures on the way from answers.
protocol TransportFailureTelling {
  /// Whether no answer came.
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
