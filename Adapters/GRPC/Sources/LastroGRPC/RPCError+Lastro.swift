// SPDX-License-Identifier: Apache-2.0

internal import GRPCCore
internal import Lastro

extension RPCError {
  /// Creates the error for a response without a gRPC status.
  init(httpStatus: Int) {
    let status = Status(httpStatusCode: httpStatus)
    self.init(code: RPCError.Code(status.code) ?? .unknown, message: status.message)
  }

  /// Creates the error for a failure of an exchange or of its body.
  init(ofExchange error: any Error) {
    switch error {
    case let error as HTTPFetchError<any Error>:
      self.init(code: error.transportFailure.map(Code.init(of:)) ?? .init(error.stage, error.code), message: "\(error)")
    case let error as TransportError: self.init(code: Code(of: error), message: "\(error)")
    case is CancellationError: self.init(code: .cancelled, message: "the call was cancelled")
    default: self.init(code: .unknown, message: "the call failed", cause: error)
    }
  }

  /// Sets the cause, and keeps the one that there is below it.
  mutating func attach(_ failure: LastroCallFailure) {
    var failure = failure
    if failure.error == nil { failure.error = cause }
    cause = failure
  }
}

extension HTTPFetchError {
  fileprivate var transportFailure: TransportError? {
    switch reason {
    case .transport(let error), .badResponse(let error), .redirect(let error): error
    case .noRequest(let error): error as? TransportError
    default: nil
    }
  }
}

extension RPCError.Code {
  fileprivate init(of error: TransportError) {
    if error.stage == .response, let code = error.engineCode,
      error.code == .http2Failure || error.code == .truncatedBody
    {
      self.init(http2: code)
    } else {
      self.init(error.stage, error.code)
    }
  }

  fileprivate init(_ stage: FailureStage, _ code: FailureCode) {
    switch code {
    case .cancelled: self = .cancelled
    case .totalTimeout, .attemptTimeout: self = .deadlineExceeded
    case .bodyTooLarge, .headTooLarge, .decompressionBomb, .queueFull: self = .resourceExhausted
    case .malformedResponse, .protocolViolation, .badContentEncoding, .engineFailure: self = .internalError
    case .tokenUnavailable, .tokenRefused: self = .unauthenticated
    case .egressDenied: self = .permissionDenied
    default: self = stage == .request ? .internalError : .unavailable
    }
  }

  /// Creates the code for an error code of HTTP/2, as gRPC's description of its protocol over HTTP/2 maps them.
  fileprivate init(http2 code: Int32) {
    switch code {
    case 0x7: self = .unavailable  // REFUSED_STREAM
    case 0x8: self = .cancelled  // CANCEL
    case 0xB: self = .resourceExhausted  // ENHANCE_YOUR_CALM
    case 0xC: self = .permissionDenied  // INADEQUATE_SECURITY
    default: self = .internalError
    }
  }
}
